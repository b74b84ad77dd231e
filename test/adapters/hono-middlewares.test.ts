import { createAdaptorServer } from "@hono/node-server";
import { Hono, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { describe, expect, it } from "vitest";
import { honoHandler } from "../../adapters/hono.js";
import { headerOf, signed, withHeader } from "../support/adapters/adapter-exchange.js";
import { arrivals } from "../support/arrivals.js";
import type { CreateServer } from "../support/listening-receiver.js";
import { ODD_BODY, oddDelivery } from "../support/fuzz/odd-delivery.js";
import { wireOf } from "../support/raw-connection.js";
import { outcomesOf, watchedReceivers } from "../support/adapters/watched-receiver.js";

const open = watchedReceivers();

/** A Hono app on @hono/node-server, with the receiver behind a middleware. */
const behind =
  (middleware: MiddlewareHandler): CreateServer =>
  (receiver, options) =>
    createAdaptorServer({
      fetch: new Hono().use(middleware).post("/", honoHandler(receiver, options)).fetch,
    });

/** Takes what a middleware has read. */
type Seen = string[];

const reading: readonly (readonly [string, number, (seen: Seen) => MiddlewareHandler])[] = [
  [
    "reads a clone of it before",
    1,
    (seen) => async (c, next) => {
      seen.push(await c.req.raw.clone().text());
      await next();
    },
  ],
  [
    "reads two clones of it before",
    2,
    (seen) => async (c, next) => {
      const clones = [c.req.raw.clone(), c.req.raw.clone()];
      for (const clone of clones) seen.push(await clone.text());
      await next();
    },
  ],
  [
    "begins to read a clone of it before, and ends after",
    1,
    (seen) => async (c, next) => {
      const text = c.req.raw.clone().text();
      await next();
      seen.push(await text);
    },
  ],
  [
    "reads a clone of it after",
    1,
    (seen) => async (c, next) => {
      const clone = c.req.raw.clone();
      await next();
      seen.push(await clone.text());
    },
  ],
  ["makes a clone of it and never reads", 0, () => (c, next) => (c.req.raw.clone(), next())],
  ["looks at its stream", 0, () => (c, next) => (c.req.raw.body, next())],
  ["looks at its signal", 0, () => (c, next) => (c.req.raw.signal, next())],
  ["looks at its headers", 0, () => (c, next) => (c.req.header(), next())],
  [
    "begins c.req.text()",
    1,
    (seen) => async (c, next) => {
      const text = c.req.text();
      await next();
      seen.push(await text);
    },
  ],
  [
    "replaces it by one made of it",
    0,
    () => (c, next) => ((c.req.raw = new Request(c.req.raw)), next()),
  ],
  [
    "puts its stream through another",
    0,
    () => (c, next) => {
      const body = c.req.raw.body?.pipeThrough(new TransformStream()) ?? null;
      c.req.raw = new Request(c.req.raw, { body, duplex: "half" });
      return next();
    },
  ],
  [
    "puts the request behind a Proxy",
    0,
    () => (c, next) => ((c.req.raw = proxyOf(c.req.raw)), next()),
  ],
  ["limits the body", 0, () => bodyLimit({ maxSize: 100_000 })],
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

describe.each(arrivals)("Hono on @hono/node-server, a body %s", (_how, send) => {
  it.each(reading)("is whole behind a middleware that %s", async (_what, times, middleware) => {
    const seen: Seen = [];
    const { server, connection } = await open.connected(behind(middleware(seen)));
    await send(server, connection, await oddDelivery());
    expect((await connection.answers(1))[0]).toMatchObject({
      status: 200,
      body: '{"outcome":"handled"}',
    });
    expect(server.bodies()).toEqual([ODD_BODY]);
    expect(seen).toEqual(Array(times).fill(ODD_BODY));
  });

  it("is answered 503 behind a middleware that has begun c.req.raw.text()", async () => {
    const texts: Promise<string>[] = [];
    const { server, connection } = await open.connected(
      behind((c, next) => (texts.push(c.req.raw.text()), next())),
    );
    await send(server, connection, await oddDelivery());
    expect((await connection.answers(1))[0]).toMatchObject({ status: 503 });
    expect(await Promise.all(texts)).toEqual([ODD_BODY]);
    expect(outcomesOf(server)).toEqual(["body_consumed"]);
  });

  it("leaves nothing to wait for in a middleware that reads afterwards", async () => {
    const settled: string[] = [];
    const server = await open(
      behind(async (c, next) => {
        await next();
        for (const read of [async () => c.req.raw.clone().text(), () => c.req.text()]) {
          settled.push(await read().catch(() => ""));
        }
      }),
    );
    const connection = await server.connect();
    await send(server, connection, await oddDelivery());
    expect((await connection.answers(1))[0]).toMatchObject({ status: 200 });
    expect(settled).toEqual(["", ""]);
    connection.socket.end();
  });
});

describe("Hono on @hono/node-server counts the headers that a middleware", () => {
  const SIGNATURE = "x-webhook-signature";
  const FORGED = `v1=${"0".repeat(64)}`;

  const altering: readonly (readonly [
    string,
    (name: string, value: string) => MiddlewareHandler,
  ])[] = [
    [
      "has set",
      (name, value) => (c, next) => {
        c.req.raw.headers.set(name, value);
        return next();
      },
    ],
    [
      "has put into a new Request",
      (name, value) => (c, next) => {
        const headers = new Headers(c.req.raw.headers);
        headers.set(name, value);
        c.req.raw = new Request(c.req.raw, { headers });
        return next();
      },
    ],
  ];

  it.each<[string, MiddlewareHandler]>([
    ["has looked at", (c, next) => (c.req.header(SIGNATURE), next())],
    ["has named all of", (c, next) => (c.req.header(), next())],
    ["has listed", (c, next) => (Array.from(c.req.raw.headers), next())],
  ])("%s, as they were sent", async (_how, middleware) => {
    const { server, connection } = await open.connected(behind(middleware));
    await connection.write(wireOf(await signed()));
    await connection.answers(1);
    expect(outcomesOf(server)).toEqual(["handled"]);
  });

  it.each(altering)("%s", async (_how, alter) => {
    const good = await signed();
    const bad = withHeader(good, SIGNATURE, FORGED);
    for (const [request, value, outcome] of [
      [good, FORGED, "signature_mismatch"],
      [bad, headerOf(good, SIGNATURE), "handled"],
      [withHeader(good, SIGNATURE), headerOf(good, SIGNATURE), "handled"],
    ] as const) {
      const { server, connection } = await open.connected(behind(alter(SIGNATURE, value)));
      await connection.write(wireOf(request));
      await connection.answers(1);
      expect(outcomesOf(server)).toEqual([outcome]);
    }
  });
});
