import http from "node:http";
import http2 from "node:http2";
import { describe, expect, it } from "vitest";
import { nodeHandler } from "../../adapters/node.js";
import { signed } from "../support/adapters/adapter-exchange.js";
import { deferred } from "../support/deferred.js";
import { http1Client, http2Client } from "../support/adapters/http-clients.js";
import { eventually, type CreateServer } from "../support/listening-receiver.js";
import { headOf } from "../support/raw-connection.js";
import { watchedReceivers } from "../support/adapters/watched-receiver.js";

const open = watchedReceivers();

/** Servers that record the state of the response when the listener's promise settles. */
function watchedListeners() {
  const ends: { readonly written: boolean; readonly gone: boolean }[] = [];
  const rejections: unknown[] = [];
  const watch = (ended: unknown, stateOf: () => (typeof ends)[number]): void => {
    Promise.resolve(ended).then(
      () => ends.push(stateOf()),
      (error: unknown) => rejections.push(error),
    );
  };
  const over1: CreateServer = (receiver, options) => {
    const handle = nodeHandler(receiver, options);
    return http.createServer((req, res) => {
      watch(handle(req, res), () => ({ written: res.writableFinished, gone: res.destroyed }));
    });
  };
  const over2: CreateServer = (receiver, options) => {
    const handle = nodeHandler(receiver, options);
    return http2.createServer((req, res) => {
      watch(handle(req, res), () => ({ written: res.headersSent, gone: res.stream.destroyed }));
    });
  };
  return { ends, rejections, over1, over2 };
}

describe("the promise of a Node listener", () => {
  it("settles when the answer has been written", async () => {
    const work = deferred();
    const { ends, rejections, over1 } = watchedListeners();
    const server = await open(over1, { handler: () => work.promise });
    const client = open.closing(http1Client(server.port));
    const answer = client.send(await signed());
    await eventually(() => server.runs.length).toBe(1);
    expect(ends).toEqual([]);
    work.resolve();
    expect(await answer).toMatchObject({ status: 200 });
    await eventually(() => ends).toEqual([{ written: true, gone: false }]);
    expect(rejections).toEqual([]);
  });

  it("settles over HTTP/2 when the stream has ended", async () => {
    const { ends, over2 } = watchedListeners();
    const server = await open(over2);
    const client = open.closing(http2Client(server.port));
    expect(await client.send(await signed())).toMatchObject({ status: 200 });
    await eventually(() => ends).toEqual([{ written: true, gone: true }]);
  });

  it("settles after the rest of a refused upload has been dropped", async () => {
    const { ends, over1 } = watchedListeners();
    const { connection } = await open.connected(over1, { maxBodyBytes: 100 });
    await connection.write(headOf(await signed(), "Content-Length: 2000"));
    expect((await connection.answers(1))[0]).toMatchObject({ status: 409 });
    // The rest may still come.
    expect(ends).toEqual([]);
    await connection.write("x".repeat(2_000));
    await connection.closed;
    await eventually(() => ends).toMatchObject([{ written: true }]);
  });

  it("settles when the sender hangs up within its upload, and while the handler runs", async () => {
    const work = deferred();
    const { ends, over1 } = watchedListeners();
    const server = await open(over1, { handler: () => work.promise });
    const upload = await server.connect();
    await upload.write(headOf(await signed(), "Content-Length: 2000"));
    await eventually(() => server.requests.length).toBe(1);
    upload.socket.destroy();
    await eventually(() => ends).toEqual([{ written: false, gone: true }]);

    const client = http1Client(server.port);
    const answer = client.send(await signed()).catch(() => "hung up");
    await eventually(() => server.runs.length).toBe(1);
    client.close();
    expect(await answer).toBe("hung up");
    await eventually(() => server.requests[1]?.req.socket.destroyed).toBe(true);
    work.resolve();
    await eventually(() => ends.length).toBe(2);
    expect(server.lines).toEqual([]);
  });
});
