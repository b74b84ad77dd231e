import { PassThrough } from "node:stream";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { IncomingMessage } from "node:http";
import { createAdaptorServer, getRequestListener, type HttpBindings } from "@hono/node-server";
import { Hono, type Context, type MiddlewareHandler, type Next } from "hono";
import { bodyLimit } from "hono/body-limit";
import { describe, expect, it } from "vitest";
import { honoHandler } from "../../adapters/hono.js";
import { recordOf, type WireRequest } from "../../kit/sending/wire.js";
import { headerOf, signed, withHeader } from "../support/adapters/adapter-exchange.js";
import { createBodyReceiver, streamingRequest } from "../support/adapters/body-receiver.js";
import { shimRequest, shimResponse } from "../support/adapters/shim-request.js";
import { requestOf } from "../support/adapters/target-kinds.js";
import { outcomesOf, watchedReceivers } from "../support/adapters/watched-receiver.js";
import { arrivals } from "../support/arrivals.js";
import { ODD_BODY, oddDelivery } from "../support/odd-delivery.js";
import { eventually, type CreateServer } from "../support/listening-receiver.js";
import { headOf, wireOf } from "../support/raw-connection.js";

interface OnNode {
  readonly Bindings: HttpBindings;
}
type Middleware = MiddlewareHandler<OnNode>;

const open = watchedReceivers();

/** A Hono app on @hono/node-server, with the receiver behind a middleware. */
const behind =
  (middleware: Middleware): CreateServer =>
  (receiver, options) =>
    createAdaptorServer({
      fetch: new Hono<OnNode>().use(middleware).post("/", honoHandler(receiver, options)).fetch,
    });

/** Sends one request to a receiver behind a middleware. */
type Send = typeof inProcess;

async function inProcess(middleware: Middleware, request: WireRequest, options?: object) {
  const { receiver, bodies, outcomes, lines } = createBodyReceiver(options);
  const app = new Hono<OnNode>().use(middleware).post("/", honoHandler(receiver));
  const response = await app.request(requestOf(request));
  const answer = { status: response.status, body: await response.text() };
  return { ...answer, bodies, outcomes: outcomes() as string[], lines };
}

const onNode = arrivals.map(([how, arrive]): readonly [string, Send] => [
  `on @hono/node-server, a body ${how}`,
  async (middleware, request, options) => {
    const { server, connection } = await open.connected(behind(middleware), options);
    await arrive(server, connection, request);
    const { status, body } = (await connection.answers(1))[0] ?? { status: 0, body: "" };
    const { lines } = server;
    return { status, body, bodies: server.bodies(), outcomes: outcomesOf(server), lines };
  },
]);

const FORM = "application/x-www-form-urlencoded";
const SIGNATURE = "x-webhook-signature";
const HANDLED = { status: 200, body: '{"outcome":"handled"}', bodies: [ODD_BODY] };
const CONSUMED = { status: 503, bodies: [], outcomes: ["body_consumed"] };

/** An odd delivery that says it is a form where a middleware wants one. */
const requestFor = async (what: string): Promise<WireRequest> => {
  const type = /form/i.test(what) ? FORM : "application/json";
  return withHeader(await oddDelivery(), "content-type", type);
};

/** What a middleware prepares before the receiver runs, and reads. */
type Prepare = (c: Context) => () => Promise<string>;
const clone: Prepare = (c) => {
  const copy = c.req.raw.clone();
  return () => copy.text();
};
const text: Prepare = (c) => () => c.req.text();

/** When a middleware reads the body too. It resolves to what it has read. */
const readers: Readonly<
  Record<string, (read: () => Promise<string>, next: Next) => Promise<string>>
> = {
  async before(read, next) {
    const seen = await read();
    await next();
    return seen;
  },
  async "from before until after"(read, next) {
    const seen = read();
    await next();
    return seen;
  },
  async after(read, next) {
    await next();
    return read();
  },
};

const harmless: readonly (readonly [string, Middleware])[] = [
  ["reads c.req.json()", async (c, next) => (await c.req.json(), next())],
  ["reads c.req.arrayBuffer()", async (c, next) => (await c.req.arrayBuffer(), next())],
  ["reads c.req.parseBody() of JSON", async (c, next) => (await c.req.parseBody(), next())],
  ["reads c.req.parseBody() of a form", async (c, next) => (await c.req.parseBody(), next())],
  ["waits", async (_c, next) => (await sleep(10), next())],
  ["makes a clone of it and never reads", (c, next) => (c.req.raw.clone(), next())],
  ["looks at its stream", (c, next) => (c.req.raw.body, next())],
  ["looks at its signal", (c, next) => (c.req.raw.signal, next())],
  ["looks at a header", (c, next) => (c.req.header(SIGNATURE), next())],
  ["replaces it by one made of it", (c, next) => ((c.req.raw = new Request(c.req.raw)), next())],
  [
    "puts its stream through another",
    (c, next) => {
      const body = c.req.raw.body?.pipeThrough(new TransformStream()) ?? null;
      c.req.raw = new Request(c.req.raw, { body, duplex: "half" });
      return next();
    },
  ],
  ["puts the request behind a Proxy", (c, next) => ((c.req.raw = proxyOf(c.req.raw)), next())],
  ["limits the body", bodyLimit({ maxSize: 100_000 })],
];

/** As tracing middlewares make one: functions are called on the request itself. */
function proxyOf(request: Request): Request {
  return new Proxy(request, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

const consuming: readonly (readonly [string, Middleware])[] = [
  ["c.req.raw.json()", async (c, next) => (await c.req.raw.json(), next())],
  ["c.req.raw.text(), which it has begun", (c, next) => (void c.req.raw.text(), next())],
  ["c.req.blob()", async (c, next) => (await c.req.blob(), next())],
  ["a reader of c.req.raw.body", (c, next) => (c.req.raw.body?.getReader(), next())],
];

describe.each<readonly [string, Send]>([["in process", inProcess], ...onNode])(
  "Hono %s",
  (_how, send) => {
    it.each([
      ["a clone of it", "before", clone],
      ["a clone of it", "from before until after", clone],
      ["a clone of it", "after", clone],
      ["c.req.text()", "before", text],
      ["c.req.text()", "from before until after", text],
    ])("a body is whole behind a middleware that reads %s %s", async (_what, when, prepare) => {
      let seen: string | undefined;
      const middleware: Middleware = async (c, next) => {
        seen = await readers[when]?.(prepare(c), next);
      };
      expect(await send(middleware, await oddDelivery())).toMatchObject(HANDLED);
      expect(seen).toBe(ODD_BODY);
    });

    it.each(harmless)("a body is whole behind a middleware that %s", async (what, middleware) => {
      expect(await send(middleware, await requestFor(what))).toMatchObject(HANDLED);
    });

    it.each(consuming)(
      "a body is answered 503 at once behind a middleware that reads %s",
      async (what, middleware) => {
        const startedAt = performance.now();
        const answer = await send(middleware, await requestFor(what));
        // Not after 10 s, the time-out of a body whose bytes no longer come.
        expect(performance.now() - startedAt).toBeLessThan(9_000);
        expect(answer).toMatchObject(CONSUMED);
        expect(answer.lines).toHaveLength(1);
        expect(answer.lines[0]?.message).toContain(
          "Mount honoHandler(receiver) before any middleware that parses the body",
        );
      },
    );

    const decoding: Middleware = async (c, next) => (await c.req.text(), next());

    it("a text that was decoded with loss is never taken for the body", async () => {
      const request = await signed({ body: Uint8Array.of(0x7b, 0xff, 0x7d) });
      const outcomes = ["signature_mismatch"];
      expect(await send(decoding, request)).toMatchObject({ status: 409, bodies: [], outcomes });
    });

    it("a body over maxBodyBytes is refused behind a middleware that has read more", async () => {
      const answer = await send(decoding, await oddDelivery(), { maxBodyBytes: 100 });
      expect(answer).toMatchObject({ status: 409, outcomes: ["body_too_large"] });
    });

    it("a middleware that reads after the receiver has nothing to wait for", async () => {
      const settled: string[] = [];
      const middleware: Middleware = async (c, next) => {
        await next();
        for (const read of [async () => c.req.raw.clone().text(), () => c.req.text()]) {
          settled.push(await read().catch(() => ""));
        }
      };
      expect(await send(middleware, await oddDelivery())).toMatchObject(HANDLED);
      expect(settled).toEqual(["", ""]);
    });
  },
);

describe.each(onNode)("Hono %s", (_how, send) => {
  const sharing: readonly (readonly [string, (seen: Buffer[]) => Middleware])[] = [
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
        const rawBody = await buffer(c.env.incoming);
        seen.push(rawBody);
        Object.assign(c.env.incoming, { rawBody });
        await next();
      },
    ],
  ];

  it.each(sharing)(
    "a body is whole if Node's request has a middleware that %s",
    async (_, make) => {
      const seen: Buffer[] = [];
      expect(await send(make(seen), await oddDelivery())).toMatchObject(HANDLED);
      expect(Buffer.concat(seen).toString()).toBe(ODD_BODY);
    },
  );

  it.each<[string, Middleware]>([
    ["with for await", async (c, next) => (await buffer(c.env.incoming), next())],
    [
      "with a listener that it does not remove",
      async (c, next) => {
        await new Promise((resolve) =>
          c.env.incoming.on("data", () => undefined).on("end", resolve),
        );
        await next();
      },
    ],
  ])("a body is answered 503 if a middleware has read Node's request %s", async (_, middleware) => {
    expect(await send(middleware, await oddDelivery())).toMatchObject(CONSUMED);
  });
});

describe("Hono counts the headers that a middleware", () => {
  const FORGED = `v1=${"0".repeat(64)}`;

  it.each<[string, (value: string) => Middleware]>([
    ["has set", (value) => (c, next) => (c.req.raw.headers.set(SIGNATURE, value), next())],
    [
      "has put into a new Request",
      (value) => (c, next) => {
        const headers = new Headers(c.req.raw.headers);
        headers.set(SIGNATURE, value);
        c.req.raw = new Request(c.req.raw, { headers });
        return next();
      },
    ],
  ])("%s", async (_how, alter) => {
    const good = await signed();
    const bad = withHeader(good, SIGNATURE, FORGED);
    for (const [request, value, outcome] of [
      [good, FORGED, "signature_mismatch"],
      [bad, headerOf(good, SIGNATURE), "handled"],
      [withHeader(good, SIGNATURE), headerOf(good, SIGNATURE), "handled"],
    ] as const) {
      const { server, connection } = await open.connected(behind(alter(value)));
      await connection.write(wireOf(request));
      await connection.answers(1);
      expect(outcomesOf(server)).toEqual([outcome]);
    }
  });
});

it("Hono runs no handler when the sender goes away while a middleware reads", async () => {
  const { receiver, outcomes } = createBodyReceiver();
  const app = new Hono()
    .use(async (c, next) => {
      await c.req.text().catch(() => undefined);
      await next();
    })
    .post("/", honoHandler(receiver));
  const request = await streamingRequest({
    pull: (controller) => controller.error(new Error("reset")),
  });
  const response = await app.request(request);
  expect([response.status, await response.text()]).toEqual([408, ""]);
  expect(outcomes()).toEqual([]);
});

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
  const response = await honoHandler(receiver)({ env: { incoming }, req: { raw, bodyCache: {} } });
  expect(await response.json()).toEqual({ outcome: "handled" });
  expect(bodies).toEqual([ODD_BODY]);
});

it("Hono reads its own request if env.incoming is the request of another delivery", async () => {
  const others: IncomingMessage[] = [];
  const { server, connection: first } = await open.connected(
    behind((c, next) => {
      others.push(c.env.incoming);
      Object.assign(c.env, { incoming: others[0] });
      return next();
    }),
  );
  const second = await server.connect();
  const request = await signed({ id: "first" });
  await first.write(headOf(request, `Content-Length: ${request.body?.length ?? 0}`));
  await eventually(() => others.length).toBe(1);
  await second.write(wireOf(await signed({ id: "second" })));
  expect((await second.answers(1))[0]).toMatchObject({ status: 200 });
  await first.write(request.body ?? "");
  expect((await first.answers(1))[0]).toMatchObject({ status: 200 });
  expect(server.runs.map(({ id }) => id)).toEqual(["second", "first"]);
  second.socket.end();
});

const stream = Object.assign(new PassThrough(), { headers: {}, method: "POST" });

it.each([
  ["a stream with the members of a request", { incoming: stream }],
  ["a Proxy", { incoming: new Proxy({}, {}) }],
])("Hono handles a delivery without a server if env is %s", async (_what, env) => {
  const { receiver, bodies } = createBodyReceiver();
  const mounted = new Hono().route("/hooks", new Hono().post("/a", honoHandler(receiver)));
  const request = new Request("http://a.example/hooks/a", requestOf(await oddDelivery()));
  const response = await mounted.request(request, {}, env);
  expect(await response.json()).toEqual({ outcome: "handled" });
  expect(bodies).toEqual([ODD_BODY]);
  expect(stream.readableDidRead).toBe(false);
});
