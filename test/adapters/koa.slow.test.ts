import http from "node:http";
import { buffer } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { koaHandler } from "../../adapters/koa.js";
import type { WebhookReceiver } from "../../src/index.js";
import type { WireRequest } from "../../kit/sending/wire.js";
import {
  Koa2,
  Koa3,
  Router,
  bodyParser,
  compress,
  koaBody,
  mount,
  oldBodyParser,
  type App,
} from "../platforms/koa/koa.mjs";
import { signed, withHeader } from "../support/adapters/adapter-exchange.js";
import { outcomesOf, watchedReceivers } from "../support/adapters/watched-receiver.js";
import { deferred } from "../support/deferred.js";
import { alarmBody } from "../support/deliveries.js";
import { eventually, type ListeningOptions } from "../support/listening-receiver.js";
import { wireOf } from "../support/raw-connection.js";

const open = watchedReceivers();

type Mount = (app: App, receiver: WebhookReceiver) => unknown;

/** Opens an app with what `use` mounts, and collects the errors that it emits. */
async function serve(Koa: typeof Koa3, use: Mount, options: ListeningOptions = {}) {
  const errors: unknown[] = [];
  const server = await open((receiver) => {
    const app = new Koa();
    app.on("error", (error) => errors.push(error));
    use(app, receiver);
    const listener = app.callback();
    return http.createServer((req, res) => void listener(req, res));
  }, options);
  return { server, errors };
}

/** A delivery from whose bytes a decoder drops the first three. */
const withByteOrderMark = () => signed({ body: `\uFEFF${alarmBody()}` });

describe.each([
  ["Koa 2", Koa2],
  ["Koa 3", Koa3],
])("%s", (_name, Koa) => {
  it("gets an answer that no middleware changes and calls no middleware after the receiver", async () => {
    const seen: unknown[] = [];
    const { server, errors } = await serve(Koa, (app, receiver) => {
      app.use(async (ctx, next) => {
        await next();
        seen.push(ctx.status, ctx.headerSent);
        ctx.body = "in its place";
        ctx.set("x-after", "too late");
      });
      app.use(koaHandler(receiver));
      app.use(() => seen.push("called after the receiver"));
    });
    const { status, body, headers } = await server.send(await signed());
    expect([status, body]).toEqual([200, '{"outcome":"handled"}']);
    expect(headers).not.toHaveProperty("x-after");
    expect(seen).toEqual([200, true]);
    expect(errors).toEqual([]);
  });

  const mounts: readonly (readonly [string, Mount])[] = [
    ["koa-mount", (app, receiver) => app.use(mount("/hook", koaHandler(receiver)))],
    [
      "@koa/router",
      (app, receiver) => {
        const router = new Router().all("/hook", koaHandler(receiver));
        app.use(router.routes()).use(router.allowedMethods());
      },
    ],
    [
      "koa-compress around it",
      (app, receiver) => app.use(compress({ threshold: 1 })).use(koaHandler(receiver)),
    ],
  ];

  it.each(mounts)("answers every method, mounted by %s", async (_by, use) => {
    const { server, errors } = await serve(Koa, use);
    const { headers, body = new Uint8Array(0) } = await signed();
    const statuses = await Promise.all(
      ["POST", "GET", "HEAD", "PUT", "OPTIONS"].map(async (method) => {
        const url = `http://127.0.0.1:${String(server.port)}/hook`;
        const sent = headers.map(([name, value]): [string, string] => [name, value]);
        const init = { method, headers: sent, ...(method === "POST" ? { body } : {}) };
        return (await fetch(url, init)).status;
      }),
    );
    expect(statuses).toEqual([200, 409, 409, 405, 409]);
    expect(errors).toEqual([]);
  });

  describe.each([
    ["koa-bodyparser", () => oldBodyParser()],
    ["@koa/bodyparser", () => bodyParser()],
    ["koa-body with includeUnparsed", () => koaBody({ includeUnparsed: true })],
  ])("behind %s", (_parser, parser) => {
    const behind = () => serve(Koa, (app, receiver) => app.use(parser()).use(koaHandler(receiver)));

    it("takes the text that the parser has kept, as it must be what was sent", async () => {
      const { server } = await behind();
      const body = alarmBody({ text: "Ålarm – 警報 – 🔔" });
      expect(await server.send(await signed({ body }))).toMatchObject({ status: 200 });
      expect(Buffer.from(server.runs[0]?.rawBody ?? []).toString()).toBe(body);
    });

    const doubtful: readonly (readonly [string, () => Promise<WireRequest>])[] = [
      ["without a Content-Length", async () => ({ ...(await signed()), chunked: true })],
      [
        "with a character that a decoder puts for what it cannot read",
        () => signed({ body: alarmBody({ text: "\uFFFD" }) }),
      ],
    ];

    it.each(doubtful)("answers 503 to a body %s, with advice in the log", async (_what, make) => {
      const { server, errors } = await behind();
      expect(await server.send(await make())).toMatchObject({ status: 503 });
      expect(outcomesOf(server)).toEqual(["body_consumed"]);
      expect(server.lines[0]?.message).toContain("Mount koaHandler(receiver) above");
      expect(errors).toEqual([]);
    });

    it("reads a body itself that the parser has left alone", async () => {
      const { server } = await behind();
      const request = withHeader(await withByteOrderMark(), "content-type", "application/x-other");
      expect(await server.send(request)).toMatchObject({ status: 200 });
    });
  });

  it("answers 503 behind koa-body, which keeps only what it has parsed", async () => {
    const { server } = await serve(Koa, (app, receiver) =>
      app.use(koaBody()).use(koaHandler(receiver)),
    );
    expect(await server.send(await signed())).toMatchObject({ status: 503 });
    expect(outcomesOf(server)).toEqual(["body_consumed"]);
  });

  /** Reads the body as a middleware may, and keeps what `keep` makes of it. */
  const keeping = (place: "request" | "req", keep: (bytes: Buffer) => unknown): Mount => {
    return (app, receiver) =>
      app
        .use(async (ctx, next) => {
          const rawBody = keep(await buffer(ctx.req));
          Object.assign(ctx[place], { rawBody });
          await next();
        })
        .use(koaHandler(receiver));
  };

  it.each(["request", "req"] as const)(
    "takes bytes that a middleware has kept in ctx.%s.rawBody",
    async (place) => {
      const { server } = await serve(
        Koa,
        keeping(place, (bytes) => bytes),
      );
      expect(await server.send(await withByteOrderMark())).toMatchObject({ status: 200 });
    },
  );

  it("does not take text without its byte order mark", async () => {
    const decode = (bytes: Buffer) => new TextDecoder().decode(bytes);
    const { server } = await serve(Koa, keeping("request", decode));
    expect(await server.send(await withByteOrderMark())).toMatchObject({ status: 503 });
    expect(outcomesOf(server)).toEqual(["body_consumed"]);
  });

  it("does not take the text of a compressed body", async () => {
    const { server } = await serve(
      Koa,
      keeping("request", (bytes) => "x".repeat(bytes.length)),
    );
    const request = withHeader(await signed(), "content-encoding", "gzip");
    expect(await server.send(request)).toMatchObject({ status: 503 });
    expect(outcomesOf(server)).toEqual(["body_consumed"]);
  });

  it("has no error when a sender resets its connection", async () => {
    const work = deferred();
    const handler = () => work.promise;
    const mountAlone: Mount = (app, receiver) => app.use(koaHandler(receiver));
    const { server, errors } = await serve(Koa, mountAlone, { handler });
    const connection = await server.connect();
    await connection.write(wireOf(await signed()));
    await eventually(() => server.runs.length).toBe(1);
    connection.socket.resetAndDestroy();
    await eventually(() => server.requests[0]?.req.socket.destroyed).toBe(true);
    expect(server.requests[0]?.req.socket.errored).toMatchObject({ code: "ECONNRESET" });
    work.resolve();
    await eventually(() => server.reports).toMatchObject([
      { outcome: "handled", disconnected: true },
    ]);
    expect(errors).toEqual([]);
  });

  it("still has the error of a middleware around the receiver", async () => {
    const failure = new Error("a middleware's");
    const { server, errors } = await serve(Koa, (app, receiver) =>
      app
        .use(async (_ctx, next) => {
          await next();
          throw failure;
        })
        .use(koaHandler(receiver)),
    );
    expect(await server.send(await signed())).toMatchObject({ status: 200 });
    await eventually(() => errors).toEqual([failure]);
  });
});
