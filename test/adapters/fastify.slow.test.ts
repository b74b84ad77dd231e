import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { fastifyPlugin, type FastifyPluginOptions } from "../../adapters/fastify.js";
import { fastify4, fastify5, type FastifyInstance } from "../platforms/fastify/fastify.js";
import { recordOf, type WireRequest } from "../../kit/sending/wire.js";
import { createBodyReceiver } from "../support/adapters/body-receiver.js";
import { signed } from "../support/adapters/adapter-exchange.js";
import { http1Client } from "../support/adapters/http-clients.js";
import { outcomesOf, watchedReceivers } from "../support/adapters/watched-receiver.js";
import { alarmReceiver } from "../support/alarm-receiver.js";
import { deferred } from "../support/deferred.js";
import { throwing } from "../support/faults.js";
import { eventually } from "../support/listening-receiver.js";

const open = watchedReceivers();

interface FastifyReply {
  code(status: number): { send(body: string): unknown };
}

/** Both versions have the types of Fastify 5 here. */
const versions = [
  ["Fastify 4", fastify4 as unknown as typeof fastify5],
  ["Fastify 5", fastify5],
] as const;

/** Opens an app that `prepare` changes before and after the receiver is registered at `/`. */
async function serve(
  app: FastifyInstance,
  { before, after, ...listening }: Surroundings = {},
): Promise<Awaited<ReturnType<typeof open>>> {
  return open(async (receiver, options) => {
    await before?.(app);
    app.register(fastifyPlugin, { receiver, path: "/", ...options });
    await after?.(app);
    await app.ready();
    return app.server;
  }, listening);
}

interface Surroundings extends NonNullable<Parameters<typeof open>[1]> {
  readonly before?: (app: FastifyInstance) => unknown;
  readonly after?: (app: FastifyInstance) => unknown;
}

describe.each(versions)("%s", (_name, fastify) => {
  type Hook = (request: { raw: IncomingMessage }, reply: FastifyReply) => unknown;
  const serveWithHook = (hook: Hook) =>
    serve(fastify(), { before: (app) => app.addHook("onRequest", hook as never) });

  describe("keeps the app's own settings away from the receiver:", () => {
    const fail = throwing(new Error("the app's"));
    const ways: readonly (readonly [string, (app: FastifyInstance) => unknown])[] = [
      [
        "content-type parsers",
        (app) => {
          app.removeAllContentTypeParsers();
          app.addContentTypeParser("*", fail);
        },
      ],
      ["a preParsing hook", (app) => app.addHook("preParsing", fail)],
      ["a preHandler hook", (app) => app.addHook("preHandler", fail)],
      ["an onSend hook", (app) => app.addHook("onSend", fail)],
      [
        "an error handler and a 404 handler",
        (app) => app.setErrorHandler(fail).setNotFoundHandler(fail),
      ],
    ];

    it.each(ways)("%s", async (_what, before) => {
      const server = await serve(fastify({ bodyLimit: 10 }), { before });
      expect(await server.send(await signed())).toMatchObject({ status: 200 });
      expect(outcomesOf(server)).toEqual(["handled"]);
    });
  });

  it("puts the prefixes of register and of a scope around it before the path", async () => {
    const { receiver } = createBodyReceiver();
    const app = fastify();
    app.register(fastifyPlugin, { receiver, path: "/one" });
    app.register(fastifyPlugin, { receiver, path: "/two", prefix: "/webhooks" });
    app.register(
      // oxlint-disable-next-line typescript/require-await
      async (scope) => {
        scope.register(fastifyPlugin, { receiver, path: "/", prefix: "/three" });
      },
      { prefix: "/api" },
    );
    const statusOf = async (url: string) => (await app.inject({ method: "HEAD", url })).statusCode;
    const urls = ["/one", "/webhooks/two", "/api/three", "/api/three/"];
    expect(await Promise.all(urls.map(statusOf))).toEqual([200, 200, 200, 200]);
    expect(await statusOf("/two")).toBe(404);
  });

  it("answers the path with one slash more or less at its end, since the gateway gives up on 404", async () => {
    const statusOf = async (path: string, url: string, app = fastify()) => {
      const { receiver } = createBodyReceiver();
      app.register(fastifyPlugin, { receiver, path });
      const { headers, body } = await signed();
      const payload = Buffer.from(body ?? []);
      const sent = { method: "POST", url, headers: recordOf(headers), payload } as const;
      return (await app.inject(sent)).statusCode;
    };
    expect(await statusOf("/hooks", "/hooks/")).toBe(200);
    expect(await statusOf("/hooks/", "/hooks")).toBe(200);
    expect(await statusOf("/hooks", "/hooks//")).toBe(404);
    expect(await statusOf("/hooks", "/hooks/", fastify({ ignoreTrailingSlash: true }))).toBe(200);
    const own = fastify();
    own.all("/hooks/", () => "the app's");
    const answer = async (url: string) => (await own.inject({ url })).body;
    expect(await statusOf("/hooks", "/hooks", own)).toBe(200);
    expect(await answer("/hooks/")).toBe("the app's");
  });

  it("answers inject(), which partners use in tests", async () => {
    const { receiver, outcomes } = createBodyReceiver({ maxBodyBytes: 2_000 });
    const app = fastify();
    await app.register(fastifyPlugin, { receiver, path: "/webhooks/gateway" });
    const inject = async ({ headers, body }: WireRequest, more: object = {}) => {
      const { statusCode, payload } = await app.inject({
        method: "POST",
        url: "/webhooks/gateway",
        headers: recordOf(headers),
        payload: Buffer.from(body ?? []),
        ...more,
      });
      return `${String(statusCode)} ${payload.slice(0, 34)}`;
    };
    expect(await inject(await signed({ id: "a" }))).toBe('200 {"outcome":"handled"}');
    const chunked = await inject(await signed({ id: "b" }), { simulate: { split: true } });
    expect(chunked).toBe('200 {"outcome":"handled"}');
    const large = { ...(await signed({ id: "c" })), body: new Uint8Array(3_000) };
    expect(await inject(large)).toMatch(/^409 .*BODY_TOO_LARGE/);
    await receiver.drain();
    expect(await inject(await signed({ id: "d" }))).toMatch(/^503 .*DRAINING/);
    expect(outcomes()).toEqual(["handled", "handled", "body_too_large", "draining"]);
    await app.close();
  });

  it("leaves other routes of the app their parsers and their error handler", async () => {
    const server = await serve(fastify(), {
      after: (app) => {
        app.setErrorHandler((_error, _request, reply) => reply.code(418).send({}));
        app.post("/other", (request) => request.body);
      },
    });
    const post = async (body: string) => {
      const headers = { "content-type": "application/json" };
      const url = `http://127.0.0.1:${String(server.port)}/other`;
      const response = await fetch(url, { method: "POST", headers, body });
      return [response.status, await response.text()];
    };
    expect(await post('{"a":1}')).toEqual([200, '{"a":1}']);
    expect(await post("{")).toEqual([418, "{}"]);
  });

  it("lets an onRequest hook of the app answer in the receiver's place", async () => {
    const server = await serveWithHook((_request, reply) => {
      void reply.code(429).send("slow down");
    });
    const answer = await server.send(await signed());
    expect(answer).toMatchObject({ status: 429, body: "slow down" });
    expect(outcomesOf(server)).toEqual([]);
  });

  it("runs after an onRequest hook that takes its time, and before onResponse", async () => {
    const statuses: number[] = [];
    const server = await serve(fastify(), {
      before: (app) => {
        app.addHook("onRequest", async () => {
          await sleep(30);
        });
        app.addHook("onResponse", (_request, reply, done) => {
          statuses.push(reply.statusCode);
          done();
        });
      },
    });
    expect(await server.send(await signed())).toMatchObject({ status: 200 });
    await eventually(() => statuses).toEqual([200]);
  });

  it("says in the log what to change if a hook of the app has read the body", async () => {
    const server = await serveWithHook(async ({ raw }) => {
      await buffer(raw);
    });
    expect(await server.send(await signed())).toMatchObject({ status: 503 });
    expect(outcomesOf(server)).toEqual(["body_consumed"]);
    expect(server.lines[0]?.message).toContain("outside of the scope with that hook");
  });

  it("takes the bytes that such a hook has kept in request.raw.rawBody", async () => {
    const server = await serveWithHook(async ({ raw }) => {
      Object.assign(raw, { rawBody: await buffer(raw) });
    });
    expect(await server.send(await signed())).toMatchObject({ status: 200 });
  });

  it("answers a running delivery before app.close() resolves", async () => {
    const work = deferred();
    const started = deferred();
    const receiver = alarmReceiver(() => {
      started.resolve();
      return work.promise;
    });
    const app = fastify();
    app.register(fastifyPlugin, { receiver, path: "/" });
    await app.listen({ host: "127.0.0.1", port: 0 });
    const client = open.closing(http1Client((app.server.address() as AddressInfo).port));
    const running = client.send(await signed());
    await started.promise;
    const closed = app.close();
    work.resolve();
    expect(await running).toMatchObject({ status: 200, body: '{"outcome":"handled"}' });
    // Fastify waits 72 s for the end of a connection that was busy when it began to close.
    client.close();
    await closed;
  });

  it.each([
    ["no path", {}, "invalid_option"],
    ["a path without its slash", { path: "webhooks" }, "invalid_option"],
    ["the options of register", { path: "/", prefix: "/a", logLevel: "warn" }, undefined],
  ])("with %s, an app starts only if it can work", async (_what, options, code) => {
    const { receiver } = createBodyReceiver();
    const app = fastify();
    app.register(fastifyPlugin, { receiver, ...options } as FastifyPluginOptions);
    const error: unknown = await app.ready().then(
      () => ({}),
      (thrown: unknown) => thrown,
    );
    expect((error as { code?: unknown }).code).toBe(code);
  });

  it("a Fastify that has not the methods of the plugin is refused with its version", async () => {
    const { receiver } = createBodyReceiver();
    const mounted = fastifyPlugin({ version: "9.0.0" } as never, { receiver, path: "/" });
    await expect(mounted).rejects.toMatchObject({
      code: "unsupported_version",
      message:
        "the app is of fastify 9.0.0, which does not work here. Supported: fastify 4 and later",
    });
  });

  it("says how to mount the plugin if it is given to app.post as a handler", async () => {
    const app = fastify();
    app.post("/", fastifyPlugin as never);
    const { statusCode, payload } = await app.inject({ method: "POST", url: "/" });
    expect(statusCode).toBe(500);
    expect(payload).toContain("app.register(fastifyPlugin, { receiver, path:");
  });
});

it("Fastify 5 does not answer a slow handler by its handlerTimeout", async () => {
  const work = deferred();
  const server = await serve(fastify5({ handlerTimeout: 20 }), { handler: () => work.promise });
  const answer = server.send(await signed());
  await eventually(() => server.runs.length).toBe(1);
  await sleep(60);
  work.resolve();
  expect(await answer).toMatchObject({ status: 200 });
});
