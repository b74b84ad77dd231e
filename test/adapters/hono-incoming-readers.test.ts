import { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { createAdaptorServer, getRequestListener, type HttpBindings } from "@hono/node-server";
import { Hono, type MiddlewareHandler } from "hono";
import { describe, expect, it } from "vitest";
import { honoHandler } from "../../adapters/hono.js";
import { recordOf } from "../../src/testing/sending/wire.js";
import { signed } from "../support/adapters/adapter-exchange.js";
import { requestOf } from "../support/adapters/adapter-targets.js";
import { arrivals } from "../support/arrivals.js";
import { createBodyReceiver } from "../support/adapters/body-receiver.js";
import { eventually, type CreateServer } from "../support/listening-receiver.js";
import { ODD_BODY, oddDelivery } from "../support/fuzz/odd-delivery.js";
import { headOf, wireOf } from "../support/raw-connection.js";
import { outcomesOf, watchedReceivers } from "../support/adapters/watched-receiver.js";

type OnNode = MiddlewareHandler<{ Bindings: HttpBindings }>;

const open = watchedReceivers();

/** A Hono app on @hono/node-server, with the receiver behind a middleware. */
const behind =
  (middleware: OnNode): CreateServer =>
  (receiver, options) =>
    createAdaptorServer({
      fetch: new Hono<{ Bindings: HttpBindings }>()
        .use(middleware)
        .post("/", honoHandler(receiver, options)).fetch,
    });

async function bytesOfIncoming(incoming: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const sharing: readonly (readonly [string, (seen: Buffer[]) => OnNode])[] = [
  [
    "listens to its data",
    (seen) => (c, next) => (c.env.incoming.on("data", (chunk: Buffer) => seen.push(chunk)), next()),
  ],
  [
    "reads it when it is readable",
    (seen) =>
      ({ env: { incoming } }, next) => {
        incoming.on("readable", () => {
          for (;;) {
            const chunk = incoming.read() as Buffer | null;
            if (chunk === null) return;
            seen.push(chunk);
          }
        });
        return next();
      },
  ],
  [
    "reads it and leaves rawBody",
    (seen) => async (c, next) => {
      const rawBody = await bytesOfIncoming(c.env.incoming);
      seen.push(rawBody);
      Object.assign(c.env.incoming, { rawBody });
      await next();
    },
  ],
];

const consuming: readonly (readonly [string, OnNode])[] = [
  ["by for await", async (c, next) => (await bytesOfIncoming(c.env.incoming), next())],
  [
    "by a listener that stays",
    async (c, next) => {
      await new Promise((resolve) => c.env.incoming.on("data", () => undefined).on("end", resolve));
      await next();
    },
  ],
];

describe.each(arrivals)("Hono on @hono/node-server, a body %s", (_how, send) => {
  it.each(sharing)("is whole although a middleware %s", async (_what, middleware) => {
    const seen: Buffer[] = [];
    const server = await open(behind(middleware(seen)));
    const connection = await server.connect();
    await send(server, connection, await oddDelivery());
    expect((await connection.answers(1))[0]).toMatchObject({ status: 200 });
    expect(server.runs.map(({ rawBody }) => new TextDecoder().decode(rawBody))).toEqual([ODD_BODY]);
    expect(Buffer.concat(seen).toString()).toBe(ODD_BODY);
    connection.socket.end();
  });

  it.each(consuming)("that a middleware has read %s is answered 503", async (_what, middleware) => {
    const server = await open(behind(middleware));
    const connection = await server.connect();
    await send(server, connection, await oddDelivery());
    expect((await connection.answers(1))[0]).toMatchObject({ status: 503 });
    expect(outcomesOf(server)).toEqual(["body_consumed"]);
    connection.socket.end();
  });
});

describe("Hono", () => {
  it("takes the rawBody of a request that a shim has made up, whose stream is empty", async () => {
    const { receiver, bodies } = createBodyReceiver();
    const { headers, body } = await oddDelivery();
    const req = new IncomingMessage({ readable: false } as unknown as Socket);
    Object.assign(req, {
      method: "POST",
      url: "/",
      complete: true,
      rawBody: Buffer.from(body ?? ""),
    });
    Object.assign(req, { headers: { ...recordOf(headers), host: "partner.example" } });
    req.rawHeaders.push(...headers.flat());
    req.push(null);
    const res = new ServerResponse(req);
    res.assignSocket(new PassThrough() as unknown as Socket);
    const finished = new Promise((resolve) => res.on("finish", resolve));
    await getRequestListener(new Hono().post("/", honoHandler(receiver)).fetch)(req, res);
    await finished;
    expect(res.statusCode).toBe(200);
    expect(bodies).toEqual([ODD_BODY]);
  });

  it("takes the headers of a request that a shim has made up with rawHeaders alone", async () => {
    const { receiver, bodies } = createBodyReceiver();
    const { headers, body } = await oddDelivery();
    const incoming = new IncomingMessage({ readable: false } as unknown as Socket);
    Object.assign(incoming, { method: "POST", url: "/", complete: true });
    incoming.rawHeaders.push(...headers.flat());
    incoming.push(body);
    incoming.push(null);
    expect(incoming.headers).toEqual({});
    // As the releases of @hono/node-server make it that read rawHeaders.
    const shell = Object.create(Request.prototype, {
      headers: { get: () => new Headers(headers.map(([name, value]) => [name, value])) },
      method: { value: "POST" },
    }) as Request;
    const raw = Object.create(shell, { [Symbol("incoming")]: { value: incoming } }) as Request;
    const response = await honoHandler(receiver)({
      env: { incoming },
      req: { raw, bodyCache: {} },
    });
    expect(await response.json()).toEqual({ outcome: "handled" });
    expect(bodies).toEqual([ODD_BODY]);
  });

  it("reads its own request when env holds another one's", async () => {
    const others: IncomingMessage[] = [];
    const server = await open(
      behind((c, next) => {
        others.push(c.env.incoming);
        Object.assign(c.env, { incoming: others[0] });
        return next();
      }),
    );
    const [first, second] = [await server.connect(), await server.connect()];
    const request = await signed({ id: "first" });
    await first.write(headOf(request, `Content-Length: ${request.body?.length ?? 0}`));
    await eventually(() => others.length).toBe(1);
    await second.write(wireOf(await signed({ id: "second" })));
    expect((await second.answers(1))[0]).toMatchObject({ status: 200 });
    await first.write(request.body ?? "");
    expect((await first.answers(1))[0]).toMatchObject({ status: 200 });
    expect(server.runs.map(({ id }) => id)).toEqual(["second", "first"]);
    for (const { socket } of [first, second]) socket.end();
  });

  it.each([
    ["nothing", undefined],
    ["null", { incoming: null }],
    ["a text", { incoming: "incoming" }],
    ["a stream of something else", { incoming: new PassThrough() }],
    ["an imitation", { incoming: { listenerCount: () => 0, readableDidRead: false } }],
    ["a binding that cannot be looked into", { incoming: new Proxy({}, {}) }],
  ])("handles a delivery without a server where env.incoming is %s", async (_what, env) => {
    const { receiver, bodies } = createBodyReceiver();
    const mounted = new Hono().route("/hooks", new Hono().post("/a", honoHandler(receiver)));
    const request = requestOf(await oddDelivery());
    const response = await mounted.request(
      new Request("http://a.example/hooks/a", request),
      {},
      env,
    );
    expect(await response.json()).toEqual({ outcome: "handled" });
    expect(bodies).toEqual([ODD_BODY]);
  });
});
