import { createHash } from "node:crypto";
import http, { type RequestListener, type Server } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { createAdaptorServer } from "@hono/node-server";
import Database from "better-sqlite3";
import fastify from "fastify";
import Koa from "koa";
import { isJson } from "../support/is-json.js";
import type { Ledger } from "../support/ledger.js";
import {
  answeringFirst,
  each,
  giving,
  overriding,
  refusing,
  replacing,
  withGrammar,
  type Judged,
  type Receivers,
} from "./flaw.js";
import { served } from "./right-receivers.js";
import { RightReceiver, type Answer, type Fields, type Request } from "./right-receiver.js";

const JSON_TYPE = { "content-type": "application/json" };
const PAGE: Answer = [503, "<h1>Unavailable</h1>", { "content-type": "text/html" }];
const BUSY: Answer = [429, "slow down", { "retry-after": "1" }];
const answering = (done: Answer, duplicate = done) =>
  overriding({ done: () => done, duplicate: () => duplicate });
const inFlight = (answer: Answer) => overriding({ inFlight: () => answer });
const failing = (answer: Answer) => overriding({ failed: () => answer });

/** Right receivers as public code writes them: whatever the gateway's contract leaves free. */
export const MORE_RIGHT: Receivers = {
  ...each("answers", answering, {
    '{"received":true}': [200, '{"received":true}', JSON_TYPE],
    "202 with JSON, and 200 to duplicates": [202, '{"status":"accepted"}', JSON_TYPE],
    "200 without a body": [200, ""],
  }),
  "answers 208 to duplicates": answering([200, "ok"], [208, "known"]),
  "answers 202, and 204 to duplicates": answering([202, "queued"], [204, ""]),
  ...each("answers a duplicate in flight", inFlight, {
    "503 with Retry-After": [503, "busy", { "retry-after": "1" }],
    "429 with Retry-After": [429, "busy", { "retry-after": "0" }],
    "409 with a date": [409, "busy", { "retry-after": "Wed, 21 Oct 2065 07:28:00 GMT" }],
  }),
  ...each("answers a failure of its handler with", failing, {
    "an HTML page": PAGE,
    "502": [502, "bad gateway"],
    "JSON and Retry-After": [500, '{"error":"failed"}', { ...JSON_TYPE, "retry-after": "1" }],
  }),
  "answers 504 to slow handlers": replacing("answerLate", async (right, key) => {
    const [, text] = await right.answerLate(key);
    return [504, text];
  }),
  "answers 408 to whatever it refuses": overriding({ refuse: () => [408, "refused"] }),
  "answers 400 to a header of another type": refusing("another type", 400),
  "answers 501 to other methods": refusing("method", 501),
  "answers 404 with a page to each GET": answeringFirst([404, "<h1>404</h1>"])(
    ({ method }) => method === "GET" || method === "HEAD",
  ),
  "shows the documentation to a GET": answeringFirst([302, "", { location: "/docs" }])(
    (req) => req.method === "GET" && !Object.keys(req.headers).join().includes("x-webhook"),
  ),
  "answers 429 to an unknown record": overriding({ unknown: () => [429, "unknown"] }),
  "keeps ids in SQLite": overriding(() => ({ handled: new SqliteSet() })),
  "frees a failed delivery a second later": leased(1_000),
  "has two replicas with one store": replicated,
  "reads a list of signatures": withGrammar(
    { signature: /^[^]*v1=[0-9a-f]{64}\b[^]*$/ },
    (right) => ({
      matches: (mac, given) =>
        given
          .split(/[,\s]+/)
          .some((one) => /^v1=[0-9a-f]{64}$/.test(one) && right.matches(mac, one)),
    }),
  ),
  "compares text in lower case": overriding({
    matches: (mac, given) => given.toLowerCase() === `v1=${mac.toString("hex")}`,
  }),
  "looks for headers in any letter case itself": overriding({
    header({ rawHeaders }, name) {
      const at = rawHeaders.flatMap((one, n) =>
        n % 2 === 0 && one.toLowerCase() === name ? [n] : [],
      );
      return at.length === 1 ? rawHeaders[(at[0] ?? 0) + 1] : undefined;
    },
  }),
  "needs 30 ms for each delivery": replacing("handle", async (right, request, record) => {
    await wait(30);
    await right.handle(request, record);
  }),
  "takes 300 requests a second": inFront(() => limited(300)),
  "asks for the body itself": withServer((server, serve) =>
    server.on("checkContinue", (req, res) => {
      res.writeContinue();
      serve(req, res);
    }),
  ),
  "keeps connections for 20 ms": withServer((server) => (server.keepAliveTimeout = 20)),
  "serves one request for each connection": withServer(
    (server) => (server.maxRequestsPerSocket = 1),
  ),
  "is by hand on Koa": served(onKoa),
  "is by hand on Fastify": served(onFastify),
  "is by hand on fetch": served(onFetch),
  "takes only bodies up to 256 KiB": replacing("readBody", (right, req) =>
    right.readBody(req, 262_144),
  ),
};

/** Right receivers of which a run cannot see everything, or that a `should` advises. */
export const RELUCTANT: Receivers = {
  "queues with exponential back-off, and answers 202": queued(202, 4_000),
  "queues with exponential back-off, and answers 200": queued(200, 3_000),
  "queues, and works off the queue ten times a second": queued(202, 1_000, 100),
  "answers each seventh request with 429": inFront(() => every(7, BUSY)),
  "answers each seventh request with the page of a proxy": inFront(() => every(7, PAGE)),
  "keeps payloads in a column of jsonb": giving(500)(
    ({ payload }) =>
      typeof payload === "string" && isJson(payload) && hasOddText(JSON.parse(payload)),
  ),
  "answers 503 to whatever it refuses": overriding({ refuse: () => [503, "refused"] }),
  "closes the connection at a wrong signature": replacing("refuse", (right, reason, request) => {
    if (reason === "mismatch") throw new Error("closed");
    return right.refuse(reason, request);
  }),
  "takes any id that is signed": withGrammar({ id: /^[^]*$/ }),
  "answers 400 to malformed headers": replacing("receive", async (right, req, body) => {
    const answer = await right.receive(req, body);
    const isUnsigned = req.headers["x-webhook-signature"] === undefined;
    return answer[1] === "malformed" && !isUnsigned ? [400, "malformed"] : answer;
  }),
  "answers 415 to other content types": answeringFirst(415)(
    ({ headers }) => !/^application\/json\b/i.test(String(headers["content-type"])),
  ),
  "answers 413 to a body over the limit": refusing("too large", 413),
  "answers 409 to a known id with another body": overriding((right) => {
    const bodies = new Map<string, string>();
    return {
      handleOnce(request: Request, record: Fields) {
        const [known, hash] = [bodies.get(request.id), hashOf(request.body)];
        if (known !== undefined && known !== hash)
          return Promise.resolve([409, "conflict"] as const);
        bodies.set(request.id, hash);
        return right.handleOnce(request, record);
      },
    };
  }),
  "asks for the body six seconds later": withServer((server, serve) =>
    server.on("checkContinue", (req, res) => {
      setTimeout(() => {
        res.writeContinue();
        serve(req, res);
      }, 6_000);
    }),
  ),
  ...each("does nothing for", leavingOut, {
    PERSONAL_DATA_NOT_FOUND: ["PERSONAL_DATA_NOT_FOUND"],
    "an alarm of a national id": ["ssn_hacked"],
    "most events": [
      "DATA_REAPPEARED",
      "DATA_DELETED",
      "DELETION_REQUEST_SENT",
      "PERSONAL_DATA_NOT_FOUND",
    ],
    "hacked e-mail addresses": ["email_hacked"],
  }),
};

function withServer(change: (server: Server, serve: RequestListener) => unknown) {
  return replacing("createServer", (right) => {
    const server = right.createServer();
    change(server, (req, res) => void right.serve(req, res));
    return server;
  });
}

/** Lets something in front answer some requests before they are read. */
function inFront(front: () => () => Answer | undefined) {
  return overriding((right) => {
    const answerOf = front();
    return {
      async serve(req, res) {
        const [status, text, headers] = answerOf() ?? [];
        if (status === undefined) return right.serve(req, res);
        res.writeHead(status, { connection: "close", ...headers }).end(text);
      },
    };
  });
}

function every(nth: number, answer: Answer) {
  let seen = 0;
  return () => (++seen % nth === 0 ? answer : undefined);
}

/** A bucket of tokens for all requests. */
function limited(aSecond: number) {
  let [tokens, at] = [aSecond / 4, performance.now()];
  return () => {
    const earned = ((performance.now() - at) * aSecond) / 1_000;
    [tokens, at] = [Math.min(aSecond / 4, tokens + earned), performance.now()];
    return tokens < 1 ? BUSY : void (tokens -= 1);
  };
}

/** A lock that ends by itself: no one frees the id of a failed delivery. */
function leased(leaseMs: number) {
  return overriding((right) => {
    const leases = new Map<string, number>();
    return {
      handleOnce(request, record) {
        const leftMs = (leases.get(request.id) ?? 0) - performance.now();
        return leftMs > 0
          ? Promise.resolve([409, "locked", { "retry-after": String(Math.ceil(leftMs / 1_000)) }])
          : right.handleOnce(request, record);
      },
      failed(request, key) {
        leases.set(request.id, performance.now() + leaseMs);
        return right.failed(request, key);
      },
    };
  });
}

function replicated(ledger: Ledger) {
  const first = new RightReceiver(ledger);
  const second = Object.assign(new RightReceiver(ledger), {
    handled: first.handled,
    running: first.running,
  });
  let requests = 0;
  return {
    createServer: () =>
      http.createServer((req, res) => void (requests++ % 2 === 0 ? first : second).serve(req, res)),
  };
}

/** A durable queue whose worker tries again after `firstMs`, twice that, and so on. `pollMs`: how often it looks. */
function queued(status: number, firstMs: number, pollMs = 20) {
  return overriding((right) => {
    const known = new Set<string>();
    const work = async (request: Request, record: Fields, backOffMs: number) => {
      await wait(pollMs - (performance.now() % pollMs), undefined, { ref: false });
      try {
        await right.handle(request, record);
      } catch {
        await wait(backOffMs, undefined, { ref: false });
        await work(request, record, 2 * backOffMs);
      }
    };
    return {
      handleOnce(request, record) {
        if (!known.has(request.id)) void work(request, record, firstMs);
        known.add(request.id);
        return Promise.resolve([status, "queued"]);
      },
    };
  });
}

function leavingOut(types: readonly string[]): Judged {
  const make = replacing("handle", async (right, request, record) => {
    if (!types.includes(String(record["event_type"] ?? record["type"])))
      await right.handle(request, record);
  });
  return [make, { leftOut: types }];
}

class SqliteSet extends Set<string> {
  readonly #db = new Database(":memory:").exec("CREATE TABLE seen (id TEXT PRIMARY KEY)");

  override has(id: string): boolean {
    return this.#db.prepare("SELECT 1 FROM seen WHERE id = ?").get(id) !== undefined;
  }

  override add(id: string): this {
    this.#db.prepare("INSERT INTO seen VALUES (?) ON CONFLICT DO NOTHING").run(id);
    return this;
  }
}

function hashOf(value: string | Uint8Array): string {
  return createHash("sha256").update(value).digest("hex");
}

/** PostgreSQL's jsonb holds no NUL and no half of a surrogate pair. */
function hasOddText(value: unknown): boolean {
  return value instanceof Object
    ? Object.entries(value).flat().some(hasOddText)
    : /[\0\p{Surrogate}]/u.test(String(value));
}

function onKoa(ledger: Ledger): Server {
  const receiver = new RightReceiver(ledger);
  const app = new Koa();
  app.on("error", () => undefined);
  app.use(async (context) => {
    const body = await receiver.readBody(context.req);
    if (body === undefined) context.set("connection", "close");
    const [status, text, headers = {}] =
      body === undefined ? receiver.refuse("too large") : await receiver.receive(context.req, body);
    context.status = status;
    context.set({ ...headers });
    context.body = text;
  });
  return http.createServer((req, res) => void app.callback()(req, res));
}

function onFastify(ledger: Ledger): Server {
  const receiver = new RightReceiver(ledger);
  const app = fastify({ exposeHeadRoutes: false });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_req, body, done) => done(null, body));
  app.setErrorHandler((_error, _req, reply) => reply.code(409).send("refused"));
  app.all("/*", async ({ raw, body }, reply) => {
    const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0);
    const [status, text, headers] = await receiver.receive(raw, bytes);
    return reply
      .code(status)
      .headers({ ...headers })
      .send(text);
  });
  void app.ready();
  return app.server;
}

function onFetch(ledger: Ledger): Server {
  const receiver = new RightReceiver(ledger);
  const fetch = async (request: globalThis.Request) => {
    const headers = Object.fromEntries(request.headers) as Record<string, string>;
    const req = { method: request.method, headers, complete: true } as http.IncomingMessage;
    const body = Buffer.from(await request.arrayBuffer());
    const [status, text, more = {}] =
      body.length > 1_048_576 ? receiver.refuse("too large") : await receiver.receive(req, body);
    return new Response(status === 204 ? null : text, { status, headers: more });
  };
  return createAdaptorServer({ fetch }) as Server;
}
