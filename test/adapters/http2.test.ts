import http2, { type ClientHttp2Session, type ClientHttp2Stream } from "node:http2";
import { afterEach, describe, expect, it } from "vitest";
import net from "node:net";
import { recordOf, type HeaderLine, type WireRequest } from "../../kit/sending/wire.js";
import { signed } from "../support/adapters/adapter-exchange.js";
import { http2Servers } from "../support/adapters/http-servers.js";
import {
  eventually,
  type CreateServer,
  type ListeningOptions,
  type ListeningReceiver,
} from "../support/listening-receiver.js";
import { outcomesOf, watchedReceivers, watchTimers } from "../support/adapters/watched-receiver.js";

const { NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR } = http2.constants;

/** How long the rest of a refused upload is read. An answer that waits for nothing takes less. */
const LINGER_MS = 2_000;

const openServer = watchedReceivers();
let server: ListeningReceiver;
let session: ClientHttp2Session;

async function open(create: CreateServer, options?: ListeningOptions): Promise<void> {
  server = await openServer(create, options);
  session = http2.connect(`http://127.0.0.1:${String(server.port)}`);
}

// Registered last, so run first: the server waits for the session to end.
afterEach(() => {
  session.close();
});

/** Starts a request on the session, body to follow. */
async function start(
  more: Record<string, string> = {},
  request: Promise<WireRequest> = signed(),
): Promise<ClientHttp2Stream> {
  const { headers } = await request;
  return session.request({ ":method": "POST", ":path": "/", ...recordOf(headers), ...more });
}

interface StreamEnd {
  readonly status: number | undefined;
  readonly body: string;
  readonly code: number | undefined;
}

/** Everything that was received on a stream until it closed. */
function endOf(stream: ClientHttp2Stream): Promise<StreamEnd> {
  return new Promise((resolve, reject) => {
    let status: number | undefined;
    let body = "";
    stream.on("response", (head) => (status = head[":status"]));
    stream.on("data", (data: Buffer) => (body += data.toString()));
    stream.on("error", reject);
    stream.on("close", () => resolve({ status, body, code: stream.rstCode }));
  });
}

const FRAME = { data: 0, headers: 1, rstStream: 3, settings: 4 } as const;
const FLAGS = { none: 0, endHeaders: 4 } as const;
const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/** Connects and sends the head of a POST. */
function startRawHttp2(port: number, headers: readonly HeaderLine[]) {
  const socket = net.connect({ port, host: "127.0.0.1", noDelay: true });
  socket.on("error", () => undefined).resume();
  const send = (type: number, flags: number, streamId: number, payload: Uint8Array) => {
    const head = Buffer.alloc(9);
    head.writeUIntBE(payload.length, 0, 3);
    head.writeUInt8(type, 3);
    head.writeUInt8(flags, 4);
    head.writeUInt32BE(streamId, 5);
    socket.write(Buffer.concat([head, payload]));
  };

  socket.write(PREFACE);
  send(FRAME.settings, FLAGS.none, 0, new Uint8Array(0));
  const pseudo = [
    [":method", "POST"],
    [":scheme", "http"],
    [":path", "/"],
    [":authority", "127.0.0.1"],
  ] as const;
  send(FRAME.headers, FLAGS.endHeaders, 1, Buffer.concat([...pseudo, ...headers].map(literal)));

  return {
    data: (text: string) => {
      send(FRAME.data, FLAGS.none, 1, Buffer.from(text));
    },
    reset: (code: number) => {
      const payload = Buffer.alloc(4);
      payload.writeUInt32BE(code);
      send(FRAME.rstStream, FLAGS.none, 1, payload);
    },
    close: () => {
      socket.destroy();
    },
  };
}

/** A header in HPACK's plainest form: never indexed, no Huffman code, both texts under 127 bytes. */
function literal([name, value]: HeaderLine): Buffer {
  const text = (of: string) => Buffer.concat([Buffer.of(of.length), Buffer.from(of, "latin1")]);
  return Buffer.concat([Buffer.of(0), text(name), text(value)]);
}

/** The session still works: a delivery on it is handled. */
async function expectUsable(): Promise<void> {
  const request = signed({ id: "after" });
  const stream = await start({}, request);
  stream.end((await request).body);
  expect(await endOf(stream)).toMatchObject({ status: 200, body: '{"outcome":"handled"}' });
}

describe.each(http2Servers)("HTTP/2: %s", (_name, create) => {
  it.each([
    ["a stream that is cancelled", NGHTTP2_CANCEL],
    ["a stream that is reset without an error", NGHTTP2_NO_ERROR],
    ["a stream that is reset with an error", NGHTTP2_INTERNAL_ERROR],
    ["a connection that breaks off", undefined],
  ])("%s midway leaves nothing behind", async (_what, resetCode) => {
    await open(create);
    const { headers } = await signed();
    const stream = startRawHttp2(server.port, headers);
    stream.data('{"alarm":');
    await eventually(() => server.requests.length).toBe(1);
    const closed = new Promise((resolve) => server.requests[0]?.req.on("close", resolve));
    if (resetCode !== undefined) stream.reset(resetCode);
    else stream.close();
    await closed;
    stream.close();
    await expectUsable();
    expect(server.runs.map(({ id }) => id)).toEqual(["after"]);
    expect(outcomesOf(server)).toEqual(["handled"]);
  });

  it("a wrong Content-Length gets no answer", async () => {
    await open(create);
    const stream = await start({ "content-length": "1000" });
    const ended = endOf(stream).catch(() => undefined);
    stream.end('{"alarm":');
    await ended;
    expect(server.runs).toEqual([]);
    expect(outcomesOf(server)).toEqual([]);
    await expectUsable();
  });

  it("an upload that stalls is answered 408, and its stream closed", async () => {
    await open(create, { bodyTimeoutMs: 60 });
    const stream = await start();
    const ended = endOf(stream);
    stream.write('{"alarm":');
    const { status, body } = await ended;
    expect(status).toBe(408);
    expect(body).toContain("BODY_TIMEOUT");
    expect(server.runs).toEqual([]);
    await expectUsable();
  });

  it("a body over maxBodyBytes is answered in full, twenty times out of twenty", async () => {
    await open(create);
    const bytes = new Uint8Array(3_000_000);
    for (let round = 0; round < 10; round += 1) {
      for (const length of [{}, { "content-length": String(bytes.length) }]) {
        const stream = await start(length);
        const ended = endOf(stream);
        stream.end(bytes);
        const { status, body } = await ended;
        expect(status).toBe(409);
        expect(JSON.parse(body)).toMatchObject({ error: { code: "BODY_TOO_LARGE" } });
      }
    }
    expect(server.runs).toEqual([]);
    await expectUsable();
  });

  it("a sender that stops within a body over maxBodyBytes is answered at once, and closed", async () => {
    await open(create, { maxBodyBytes: 1_000 });
    const stream = await start({ "content-length": "2000" });
    const ended = endOf(stream);
    const answered = new Promise((resolve) => stream.on("data", resolve));
    const lingers = watchTimers(LINGER_MS);
    stream.write(new Uint8Array(1_500));
    await answered;
    expect(lingers.fired()).toBe(0);
    expect(await ended).toMatchObject({ status: 409, code: NGHTTP2_NO_ERROR });
    await expectUsable();
  });

  it("a body with trailers is handled", async () => {
    await open(create);
    const request = await signed();
    const stream = session.request(
      { ":method": "POST", ":path": "/", ...recordOf(request.headers) },
      { waitForTrailers: true },
    );
    stream.on("wantTrailers", () => {
      stream.sendTrailers({ "x-webhook-id": "another", "x-checksum": "abc" });
    });
    const ended = endOf(stream);
    stream.end(request.body);
    expect(await ended).toMatchObject({ status: 200, body: '{"outcome":"handled"}' });
    expect(server.runs.map(({ id }) => id)).toEqual(["3f2504e0-4f89-41d3-9a0c-0305e82c3301"]);
  });
});
