import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import { createAdaptorServer } from "@hono/node-server";
import { Hono, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { describe, expect, it } from "vitest";
import { honoHandler } from "../../adapters/hono.js";
import type { WireRequest } from "../../kit/sending/wire.js";
import { requestOf } from "../support/adapters/target-kinds.js";
import { createBodyReceiver } from "../support/adapters/body-receiver.js";
import { http1Client } from "../support/adapters/http-clients.js";
import { ODD_BODY, oddDelivery } from "../support/fuzz/odd-delivery.js";
import { chunkOf, connectRaw, headOf, wireOf } from "../support/raw-connection.js";
import { listen } from "../support/servers.js";

/** A receiver on Hono on Node, behind a middleware, and one request to it. */
function mountBehind(middleware: MiddlewareHandler, options: { maxBodyBytes?: number } = {}) {
  const mounted = createBodyReceiver(options);
  const app = new Hono().use(middleware).post("/", honoHandler(mounted.receiver));
  const send = async (request: WireRequest) => {
    const server = await listen(createAdaptorServer({ fetch: app.fetch }));
    const client = http1Client(server.port);
    const answer = await client.send(request);
    client.close();
    await server.close();
    return answer;
  };
  return { ...mounted, app, send };
}

const through: MiddlewareHandler = (_c, next) => next();

describe("what a middleware makes of Node's request", () => {
  it.each<[string, MiddlewareHandler]>([
    ["a clone that stays unread", (c, next) => (c.req.raw.clone(), next())],
    ["its stream, which stays unread", (c, next) => (c.req.raw.body, next())],
    ["a new Request of it", (c, next) => ((c.req.raw = new Request(c.req.raw)), next())],
    ["its headers", (c, next) => (c.req.raw.headers.get("host"), next())],
    ["a limit on its body", bodyLimit({ maxSize: 10_000 })],
  ])("leaves the exact body: %s", async (_what, middleware) => {
    for (const chunked of [false, true]) {
      const { send, bodies } = mountBehind(middleware);
      const answer = await send({ ...(await oddDelivery()), chunked });
      expect(answer.body).toBe('{"outcome":"handled"}');
      expect(bodies).toEqual([ODD_BODY]);
    }
  });

  it("is read beside: a clone that is read after the handler", async () => {
    const read: string[] = [];
    const { send, bodies } = mountBehind(async (c, next) => {
      const clone = c.req.raw.clone();
      await next();
      read.push(await clone.text());
    });
    expect((await send(await oddDelivery())).status).toBe(200);
    expect(bodies).toEqual([ODD_BODY]);
    expect(read).toEqual([ODD_BODY]);
  });

  it("counts: headers that were put in order", async () => {
    const { send, bodies } = mountBehind((c, next) => {
      const headers = new Headers(c.req.raw.headers);
      headers.set("x-webhook-id", headers.get("x-original-id") ?? "");
      c.req.raw = new Request(c.req.raw, { headers });
      return next();
    });
    const request = await oddDelivery();
    const renamed = request.headers.map(([name, value]): readonly [string, string] => [
      name.toLowerCase() === "x-webhook-id" ? "x-original-id" : name,
      value,
    ]);
    expect((await send({ ...request, headers: renamed })).body).toBe('{"outcome":"handled"}');
    expect(bodies).toEqual([ODD_BODY]);
  });

  it("is consumed where it has read Node's request itself", async () => {
    const { send, bodies, outcomes } = mountBehind(async (c, next) => {
      const { incoming } = c.env as { incoming: IncomingMessage };
      await once(incoming.resume(), "end");
      await next();
    });
    expect((await send(await oddDelivery())).status).toBe(503);
    expect(outcomes()).toEqual(["body_consumed"]);
    expect(bodies).toEqual([]);
  });
});

describe("env.incoming that is none of ours", () => {
  const another = Object.assign(new PassThrough(), { headers: {}, method: "POST" });

  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["no env", null],
    ["a text", { incoming: "bound by the user" }],
    ["a function of that name", { incoming: { listenerCount: () => 0 } }],
    ["another stream", { incoming: another }],
  ])("is left alone: %s", async (_what, env) => {
    const { app, bodies } = mountBehind(through);
    const response = await app.request(requestOf(await oddDelivery()), undefined, env);
    expect(await response.json()).toEqual({ outcome: "handled" });
    expect(bodies).toEqual([ODD_BODY]);
    expect(another.readableDidRead).toBe(false);
  });
});

describe("an upload to Hono on Node", () => {
  const cut = (bytes: Uint8Array, pieces: number) =>
    Array.from({ length: pieces }, (_, at) =>
      bytes.subarray(
        Math.floor((at * bytes.length) / pieces),
        Math.floor(((at + 1) * bytes.length) / pieces),
      ),
    );

  it("that its sender ends midway gets no answer, not even Node's 400", async () => {
    const { app, outcomes } = mountBehind(through);
    const server = await listen(createAdaptorServer({ fetch: app.fetch }));
    const connection = await connectRaw(server.port);
    await connection.write(wireOf(await oddDelivery()).subarray(0, -5));
    connection.socket.end();
    await connection.closed;
    expect(connection.received()).toBe("");
    expect(outcomes()).toEqual([]);
    await server.close();
  });

  it.each([1, 2, 50])(
    "in %i pieces is whole, again and again on one connection",
    async (pieces) => {
      const { app, bodies } = mountBehind(through);
      const listeners: number[] = [];
      const node = createAdaptorServer({ fetch: app.fetch });
      node.on("request", ({ socket }: IncomingMessage) => {
        listeners.push(
          socket.eventNames().reduce((sum, name) => sum + socket.listenerCount(name), 0),
        );
      });
      const server = await listen(node);
      const connection = await connectRaw(server.port);
      for (let nth = 1; nth <= 5; nth++) {
        const { body = new Uint8Array(0), ...request } = await oddDelivery();
        const id: readonly [string, string] = ["x-nothing", String(nth)];
        await connection.write(
          headOf({ ...request, headers: [...request.headers, id] }, "Transfer-Encoding: chunked"),
        );
        for (const piece of cut(body, pieces)) await connection.write(chunkOf(piece));
        await connection.write(chunkOf(new Uint8Array(0)));
        const answers = await connection.answers(nth);
        expect(answers[nth - 1]?.status).toBe(200);
      }
      connection.socket.destroy();
      await server.close();
      expect(bodies).toEqual([ODD_BODY]);
      expect(new Set(listeners.slice(1)).size).toBe(1);
    },
  );

  it.each([
    ["declared", false],
    ["in chunks", true],
  ])("that is too large, %s, is answered 409 and the connection closed", async (_how, chunked) => {
    const { send, outcomes } = mountBehind(through, { maxBodyBytes: 100 });
    const answer = await send({ ...(await oddDelivery()), chunked });
    expect(answer.status).toBe(409);
    expect(answer.headers["connection"]).toBe("close");
    expect(outcomes()).toEqual(["body_too_large"]);
  });
});
