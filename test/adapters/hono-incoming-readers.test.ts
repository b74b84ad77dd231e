import type { IncomingMessage } from "node:http";
import type {} from "node:net";
import { PassThrough } from "node:stream";
import { createAdaptorServer, getRequestListener, type HttpBindings } from "@hono/node-server";
import { Hono, type MiddlewareHandler } from "hono";
import { describe, expect, it } from "vitest";
import { honoHandler } from "../../adapters/hono.js";
import { recordOf } from "../../kit/sending/wire.js";
import { signed } from "../support/adapters/adapter-exchange.js";
import { requestOf } from "../support/adapters/target-kinds.js";
import { shimRequest, shimResponse } from "../support/adapters/shim-request.js";
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
    "listens for its data",
    (seen) => (c, next) => (c.env.incoming.on("data", (chunk: Buffer) => seen.push(chunk)), next()),
  ],
  [
    "reads it on each readable event",
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
    "reads it and sets rawBody",
    (seen) => async (c, next) => {
      const rawBody = await bytesOfIncoming(c.env.incoming);
      seen.push(rawBody);
      Object.assign(c.env.incoming, { rawBody });
      await next();
    },
  ],
];

const consuming: readonly (readonly [string, OnNode])[] = [
  ["with for await", async (c, next) => (await bytesOfIncoming(c.env.incoming), next())],
  [
    "with a listener that it does not remove",
    async (c, next) => {
      await new Promise((resolve) => c.env.incoming.on("data", () => undefined).on("end", resolve));
      await next();
    },
  ],
];

describe.each(arrivals)("Hono on @hono/node-server, a body that arrives %s", (how, send) => {
  it.each(sharing)(
    `Hono reads the whole body that arrives ${how} if a middleware %s`,
    async (_what, middleware) => {
      const seen: Buffer[] = [];
      const { server, connection } = await open.connected(behind(middleware(seen)));
      await send(server, connection, await oddDelivery());
      expect((await connection.answers(1))[0]).toMatchObject({ status: 200 });
      expect(server.bodies()).toEqual([ODD_BODY]);
      expect(Buffer.concat(seen).toString()).toBe(ODD_BODY);
    },
  );

  it.each(consuming)(
    `Hono answers 503 to a body that arrives ${how} if a middleware has read it %s`,
    async (_what, middleware) => {
      const { server, connection } = await open.connected(behind(middleware));
      await send(server, connection, await oddDelivery());
      expect((await connection.answers(1))[0]).toMatchObject({ status: 503 });
      expect(outcomesOf(server)).toEqual(["body_consumed"]);
    },
  );
});

describe("Hono", () => {
  it("Hono reads rawBody of a request that a serverless shim made with an empty stream", async () => {
    const { receiver, bodies } = createBodyReceiver();
    const { headers, body } = await oddDelivery();
    const req = shimRequest({
      headers: { ...recordOf(headers), host: "partner.example" },
      rawBody: Buffer.from(body ?? ""),
    });
    req.rawHeaders.push(...headers.flat());
    req.push(null);
    const { res } = shimResponse(req);
    const finished = new Promise((resolve) => res.on("finish", resolve));
    await getRequestListener(new Hono().post("/", honoHandler(receiver)).fetch)(req, res);
    await finished;
    expect(res.statusCode).toBe(200);
    expect(bodies).toEqual([ODD_BODY]);
  });

  it("Hono reads the headers of a request that a serverless shim made with rawHeaders only", async () => {
    const { receiver, bodies } = createBodyReceiver();
    const { headers, body } = await oddDelivery();
    const incoming = shimRequest({});
    incoming.rawHeaders.push(...headers.flat());
    incoming.push(body);
    incoming.push(null);
    expect(incoming.headers).toEqual({});
    // The Request of those releases of @hono/node-server that read rawHeaders.
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

  it("Hono reads its own request if env.incoming is the request of another delivery", async () => {
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
    ["a stream that is no request", { incoming: new PassThrough() }],
    [
      "an object with the members of a request",
      { incoming: { listenerCount: () => 0, readableDidRead: false } },
    ],
    ["a Proxy", { incoming: new Proxy({}, {}) }],
  ])("Hono handles a delivery without a server if env is %s", async (_what, env) => {
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
