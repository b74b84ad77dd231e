import http, { type IncomingMessage } from "node:http";
import { Writable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import express, { type Request, type RequestHandler, type Response } from "express";
import express4 from "express4";
import { describe, expect, it } from "vitest";
import { expressHandler } from "../../adapters/express.js";
import { signed, withHeader } from "../support/adapters/adapter-exchange.js";
import { alarmBody } from "../support/deliveries.js";
import { deferred } from "../support/deferred.js";
import { http1Client, type HttpClient } from "../support/adapters/http-clients.js";
import {
  eventually,
  type ListeningOptions,
  type ListeningReceiver,
} from "../support/listening-receiver.js";
import { oddDelivery } from "../support/odd-delivery.js";
import { headOf, wireOf } from "../support/raw-connection.js";
import { outcomesOf, watchedReceivers, watchTimers } from "../support/adapters/watched-receiver.js";

/** How long the rest of a refused upload is read. An answer that waits for nothing takes less. */
const LINGER_MS = 2_000;

const open = watchedReceivers();
let server: ListeningReceiver;
let client: HttpClient;

const outcomes = () => outcomesOf(server);

/** A middleware that waits. */
const after =
  (ready: (req: Request) => Promise<unknown>): RequestHandler =>
  (req, _res, next) => {
    void ready(req).then(() => next());
  };

/** A middleware that does something first. */
const first =
  (act: (req: Request, res: Response) => unknown): RequestHandler =>
  (req, res, next) => {
    act(req, res);
    next();
  };

describe.each([
  ["Express 5", express],
  ["Express 4", express4],
])("%s", (_name, framework) => {
  const behind = async (
    middleware: RequestHandler | RequestHandler[],
    options: ListeningOptions = {},
  ) => {
    server = await open((receiver, adapterOptions) => {
      const app = framework().use(middleware);
      return http.createServer(app.post("/", expressHandler(receiver, adapterOptions)));
    }, options);
    client = open.closing(http1Client(server.port));
  };

  describe("the exact body", () => {
    const keepRawBody = (
      req: IncomingMessage & { rawBody?: Buffer },
      _res: unknown,
      raw: Buffer,
    ) => {
      req.rawBody = raw;
    };
    const ways: readonly (readonly [string, RequestHandler])[] = [
      ["behind express.raw()", framework.raw({ type: "*/*" })],
      ["behind express.text()", framework.text({ type: "*/*" })],
      ["behind express.json() that keeps rawBody", framework.json({ verify: keepRawBody })],
      [
        "behind a parser that leaves rawBody beside its body, as Cloud Functions do",
        after(async (req) => {
          const rawBody = await buffer(req);
          Object.assign(req, { rawBody, body: JSON.parse(rawBody.toString()) as unknown });
        }),
      ],
    ];

    it.each(ways)("reaches the handler %s", async (_where, middleware) => {
      await behind(middleware);
      const request = await oddDelivery();
      expect((await client.send(request)).body).toBe('{"outcome":"handled"}');
      expect(Buffer.from(server.runs[0]?.rawBody ?? [])).toEqual(Buffer.from(request.body ?? []));
    });

    it("reaches the handler behind express.json() as the log advises, also when it has 200 KB", async () => {
      await behind(framework.json({ limit: "1mb", verify: keepRawBody }));
      const body = alarmBody({ payload: "x".repeat(200_000) });
      const answer = await client.send(await signed({ body }));
      expect(answer.body).toBe('{"outcome":"handled"}');
    });

    it("reaches the handler although Express 4 has set req.body to {}", async () => {
      let bodySeen: unknown;
      const look = first((req) => (bodySeen = req.body));
      await behind([framework.json(), look]);
      const request = withHeader(await oddDelivery(), "content-type", "text/plain");
      expect((await client.send(request)).status).toBe(200);
      expect(bodySeen).toEqual(framework === express4 ? {} : undefined);
    });

    it("reaches the handler when it is empty", async () => {
      await behind(framework.raw({ type: "*/*" }));
      expect((await client.send(await signed({ body: "" }))).status).toBe(503);
      expect(outcomes()).toEqual(["unrecognized"]);
    });
  });

  describe("a body that something has consumed", () => {
    const ways: readonly (readonly [string, RequestHandler])[] = [
      ["express.json()", framework.json()],
      [
        "a middleware that drained it",
        (req, _res, next) => {
          req.on("end", () => next());
          req.resume();
        },
      ],
      ["a middleware that iterated over it", after(buffer)],
    ];

    it.each(ways)("is answered 503 at once: %s", async (_what, middleware) => {
      await behind(middleware);
      const startedAt = performance.now();
      const { status, body } = await client.send(await oddDelivery());
      // Not after 10 s, the time-out of a body whose bytes no longer come.
      expect(performance.now() - startedAt).toBeLessThan(9_000);
      expect(status).toBe(503);
      expect(JSON.parse(body)).toMatchObject({ error: { code: "BODY_CONSUMED" } });
      expect(server.runs).toEqual([]);
    });

    it("is explained in the log, which names the line to move", async () => {
      await behind(framework.json());
      await client.send(await oddDelivery());
      const [line] = server.lines;
      expect(line?.level).toBe("error");
      expect(line?.message).toContain("body_consumed");
      expect(line?.message).toContain(
        "Move app.all(…, expressHandler(receiver)) above app.use(express.json())",
      );
      expect(line?.message).toContain(
        'express.json({ limit: "1mb", verify: (req, _res, bytes) => { req.rawBody = bytes; } })',
      );
    });

    it("does not block its connection when it was read in part", async () => {
      await behind((req, _res, next) => {
        req.once("data", () => {
          req.pause();
          next();
        });
      });
      const large = { ...(await oddDelivery()), body: new Uint8Array(900_000) };
      expect((await client.send(large)).status).toBe(503);
      expect((await client.send(await oddDelivery())).status).toBe(503);
      expect(client.connections()).toBe(1);
    });
  });

  it("answers a body over maxBodyBytes that a parser has read, and keeps its connection", async () => {
    await behind(framework.raw({ type: "*/*" }), { maxBodyBytes: 100 });
    expect((await client.send(await signed())).status).toBe(409);
    expect((await client.send(await signed())).status).toBe(409);
    expect(outcomes()).toEqual(["body_too_large", "body_too_large"]);
    expect(client.connections()).toBe(1);
  });

  it("closes the connection of a too large body that was complete before the handler ran", async () => {
    await behind(
      after(() => sleep(30)),
      { maxBodyBytes: 100 },
    );
    const connection = await server.connect();
    const lingers = watchTimers(LINGER_MS);
    const head = headOf(await signed(), "Transfer-Encoding: chunked");
    await connection.write(`${head}c8\r\n${"x".repeat(200)}\r\n0\r\n\r\n`);
    expect((await connection.answers(1))[0]?.status).toBe(409);
    await connection.closed;
    expect(lingers.fired()).toBe(0);
  });

  it.each<[string, (end: (chunk?: unknown) => unknown, chunk: unknown) => unknown]>([
    ["takes a chunk and an encoding", (end, chunk) => end(chunk)],
    ["throws", () => expect.fail("no end")],
  ])("closes over a body that was too large, where another's res.end %s", async (_how, wrap) => {
    await behind(
      first((_req, res) => {
        const end = res.end.bind(res) as (chunk?: unknown) => unknown;
        // As in express-session and compression, which take a callback for the chunk.
        res.end = ((chunk?: unknown) => {
          if (typeof chunk === "function") throw new TypeError("a chunk must be text or bytes");
          return wrap(end, chunk);
        }) as typeof res.end;
      }),
      { maxBodyBytes: 100 },
    );
    const connection = await server.connect();
    await connection.write(headOf(await signed(), "Content-Length: 200"));
    await connection.write("x".repeat(200));
    expect((await connection.answers(1))[0]?.status).toBe(409);
    await connection.closed;
    expect(outcomes()).toEqual(["body_too_large"]);
  });

  it("writes no answer when the sender left before the handler was reached", async () => {
    const reached = deferred();
    const bodyTimeoutMs = 50;
    await behind(
      (_req, res, next) => {
        res.on("close", () => {
          setImmediate(() => {
            next();
            reached.resolve();
          });
        });
      },
      { bodyTimeoutMs },
    );
    const connection = await server.connect();
    await connection.write(headOf(await signed(), "Content-Length: 1000"));
    await eventually(() => server.requests.length).toBe(1);
    connection.socket.resetAndDestroy();
    await reached.promise;
    await sleep(2 * bodyTimeoutMs);
    expect(outcomes()).toEqual([]);
  });

  it("handles a complete body although another reader is slow and the sender has left", async () => {
    await behind(
      first((req) => {
        const write: Writable["_write"] = (_chunk, _encoding, done) =>
          void req.socket.once("end", done);
        req.pipe(new Writable({ highWaterMark: 1, write }));
      }),
    );
    const connection = await server.connect();
    await connection.write(wireOf(await oddDelivery()));
    connection.socket.end();
    await eventually(outcomes).toEqual(["handled"]);
  });

  it("lets a time-out middleware finish the answer that it has begun to a body that is too large", async () => {
    let finish: () => void = () => undefined;
    await behind(
      first((_req, res) => {
        res.status(503).write("too ");
        finish = () => res.end("slow");
      }),
      { maxBodyBytes: 100 },
    );
    const answering = client.send(await signed());
    await eventually(outcomes).toEqual(["body_too_large"]);
    // One tick for what the adapter does after the outcome.
    await sleep(1);
    finish();
    expect(await answering).toMatchObject({ status: 503, body: "too slow" });
  });
});
