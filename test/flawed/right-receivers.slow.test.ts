import { createHash } from "node:crypto";
import http, { type RequestListener, type Server } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import express, { type ErrorRequestHandler } from "express";
import express4 from "express4";
import { expect, it } from "vitest";
import { createRandom } from "../../kit/random.js";
import { isInFull } from "../support/extent.js";
import { isJson } from "../support/is-json.js";
import type { Ledger } from "../support/ledger.js";
import { CASES, inJavaScript, judgedBefore, type Receiver } from "./convicts.js";
import {
  answeringFirst,
  doingFirst,
  each,
  giving,
  keyed,
  overriding,
  parsingLoosely,
  refusing,
  replacing,
  rememberingLast,
  withGrammar,
  type Judged,
  type Receivers,
} from "./flaw.js";
import type { Order } from "./judge.js";
import { RightReceiver, type Answer, type Fields, type Request } from "./right-receiver.js";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const JSON_TYPE = { "content-type": "application/json" };
const PAGE: Answer = [503, "<h1>Unavailable</h1>", { "content-type": "text/html" }];
const BUSY: Answer = [429, "slow down", { "retry-after": "1" }];
const answering = (done: Answer, duplicate = done) =>
  overriding({ done: () => done, duplicate: () => duplicate });
const inFlight = (answer: Answer) => overriding({ inFlight: () => answer });
const failing = (answer: Answer) => overriding({ failed: () => answer });

/** Receivers without a flaw, each of another kind. */
const RIGHT: Receivers = {
  "is by hand on node:http": (ledger) => new RightReceiver(ledger),
  ...each("is by hand on", onExpress, {
    "Express 5 with express.raw": express,
    "Express 4 with express.raw": express4,
  }),
};

/** Right receivers that do something unusual: whatever the gateway's contract leaves free. */
const UNUSUAL: Receivers = {
  "answers 204": answering([204, ""]),
  "answers ok as HTML": answering([200, "ok", { "content-type": "text/html" }]),
  "answers duplicates and plain deliveries with a page": overriding({
    done: () => [200, "<p>new</p>", { "content-type": "text/html" }],
    duplicate: () => [200, "<p>known</p>", { "content-type": "text/html" }],
  }),
  "names an outcome of its own, and none of a duplicate": overriding({
    done: () => [200, '{"outcome":"stored"}', { "content-type": "application/json" }],
    duplicate: () => [204, ""],
  }),
  "answers 500 to text its database refuses": giving(500)(({ text, site_name }) =>
    /[\0\p{Surrogate}]/u.test(`${String(text)}${String(site_name)}`),
  ),
  "sets a cookie": answering([200, "ok", { "set-cookie": "session=1" }]),
  "accepts only UUIDs as ids": withGrammar({ id: UUID }),
  "answers 409 to upper-case hexadecimal": withGrammar({ signature: /^v1=[0-9a-f]{64}$/ }),
  "answers 409 to an unreadable body": overriding({ unreadable: () => [409, "no JSON"] }),
  "tolerates two minutes": tolerating(120),
  "tolerates half an hour": tolerating(1_800),
  "stores UUIDs in upper case": keyed(({ id }) => (UUID.test(id) ? id.toUpperCase() : id)),
  ...each("answers 409 to", giving(409), {
    "numbers as text": ({ id, account_id }) => typeof (id ?? account_id) === "string",
    "a payload that is no object, and to odd members": (_record, { body }) =>
      /__proto__|\[\[\[|note":"a\\u0000b|\\ud83d|\d{25}/.test(String(body)),
  }),
  ...each("answers 503 to", giving(503), {
    "a record without a field": (record) =>
      "text" in record &&
      Object.values(record).some((value) => value === null || value === undefined),
    "a payload that is no JSON": ({ payload }) => payload !== undefined && !isJson(payload),
  }),
  "answers GET with a page": replacing("receive", (right, req, body) =>
    req.method === "GET" && !right.hasDeliveryMark(req)
      ? [200, "<h1>alive</h1>"]
      : right.receive(req, body),
  ),
  "answers 404 to other methods": answeringFirst(404)(({ method }) => method !== "POST"),
  "answers requests without a host with another site's page": answeringFirst([
    200,
    "<h1>welcome</h1>",
  ])(({ headers }) => headers.host === undefined),
  "closes each connection": doingFirst("serve", (_right, _req, res) =>
    res.setHeader("connection", "close"),
  ),
  "closes the connection at the limit of a body": replacing("readBody", async (right, req) => {
    const body = await right.readBody(req);
    if (body === undefined) throw new Error("too large");
    return body;
  }),
  "handles one delivery at a time, and answers 503 to others": overriding((right) => {
    let isBusy = false;
    return {
      async handleOnce(request, record) {
        if (isBusy) return [503, "busy", { "retry-after": "0" }];
        isBusy = true;
        try {
          await wait(2);
          return await right.handleOnce(request, record);
        } finally {
          isBusy = false;
        }
      },
    };
  }),
  "handles deliveries one after another": overriding((right) => {
    let last: Promise<unknown> = Promise.resolve();
    return {
      handle(request, record) {
        const handling = last.then(() => right.handle(request, record));
        last = handling.catch(() => undefined);
        return handling;
      },
    };
  }),
  "lets duplicates wait for the first one": overriding((right) => {
    const runs = new Map<string, Promise<Answer>>();
    return {
      handleOnce(request, record) {
        const { id } = request;
        const first = runs.get(id) ?? right.handleOnce(request, record);
        runs.set(id, first);
        return first.finally(() => runs.delete(id));
      },
    };
  }),
  "refuses invalid bytes in headers itself": parsingLoosely((value) => value),
  "ends an id at a NUL, as PHP and C do": parsingLoosely((value) => value.replace(/\0.*/s, "")),
  "reads and so refuses a form or another type itself": replacing("isSigned", (right, request) => {
    const type = String(request.req.headers["content-type"]);
    return !/form|;;;/.test(type) && right.isSigned(request);
  }),
  "forgets ids after a thousand deliveries": rememberingLast(1_000),
  "answers 429 to whatever it refuses": overriding({ refuse: () => [429, "refused"] }),
  'answers {"received":true}': answering([200, '{"received":true}', JSON_TYPE]),
  "answers 208 to duplicates": answering([200, "ok"], [208, "known"]),
  ...each("answers a duplicate in flight", inFlight, {
    "503 with Retry-After": [503, "busy", { "retry-after": "1" }],
    "429 with Retry-After": [429, "busy", { "retry-after": "0" }],
    "409 with a date": [409, "busy", { "retry-after": "Wed, 21 Oct 2065 07:28:00 GMT" }],
  }),
  ...each("answers a failure of its handler with", failing, {
    "an HTML page": PAGE,
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
  "frees a failed delivery a second later": leased(1_000),
  "reads a list of signatures": withGrammar(
    { signature: /^[^]*v1=[0-9a-f]{64}\b[^]*$/ },
    (right) => ({
      matches: (mac, given) =>
        given
          .split(/[,\s]+/)
          .some((one) => /^v1=[0-9a-f]{64}$/.test(one) && right.matches(mac, one)),
    }),
  ),
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
};

/** Right receivers of which a run cannot see everything, or that a `should` advises. */
const HARD_TO_SEE: Receivers = {
  "takes only bodies up to 256 KiB": replacing("readBody", (right, req) =>
    right.readBody(req, 262_144),
  ),
  "queues with exponential back-off, and answers 202": queued(202, 4_000),
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
        const [known, hash] = [
          bodies.get(request.id),
          createHash("sha256").update(request.body).digest("hex"),
        ];
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
    "most events": [
      "DATA_REAPPEARED",
      "DATA_DELETED",
      "DELETION_REQUEST_SENT",
      "PERSONAL_DATA_NOT_FOUND",
    ],
    "hacked e-mail addresses": ["email_hacked"],
  }),
};

/** The orders in which a right receiver must not be accused, one run after another. */
const ORDERS: readonly Order[] = [
  (cases) => cases,
  (cases) => cases,
  (cases) => cases.toReversed(),
  (cases) => shuffled(cases, 55),
];

/**
 * Each case meets a fifth of the unusual receivers here, twice, and every tenth of them backwards and shuffled too.
 * `npm run flaws` judges them all by all cases in each order.
 */
const PART = 5;
const ORDERED = 10;
const unusual = [UNUSUAL, HARD_TO_SEE].flatMap((rows) => Object.keys(rows));

/** The cases that judge a receiver. */
function casesOf(does: string): readonly string[] {
  const at = unusual.indexOf(does);
  return isInFull || at === -1 ? CASES : CASES.filter((_, n) => (n + at) % PART === 0);
}

/** Each order is a run of its own against the same server. */
function ordersOf(does: string): readonly Order[] {
  return isInFull || unusual.indexOf(does) % ORDERED === 0 ? ORDERS : ORDERS.slice(0, 2);
}

const namesOf = (rows: readonly Receiver[]) => rows.map(({ does }) => does);
const innocent = inJavaScript({ ...RIGHT, ...UNUSUAL });
const hardToSee = inJavaScript(HARD_TO_SEE);
// Each runs many cases, so that fewer of them share a processor.
const resultsOf = judgedBefore([...innocent, ...hardToSee], 12, ({ does, judge }) =>
  judge(casesOf(does), ordersOf(does)),
);

function expectAll(does: string) {
  const results = resultsOf(does);
  expect(results).toHaveLength(casesOf(does).length * ordersOf(does).length);
  return results;
}

it.each(namesOf(innocent))("a receiver in JavaScript that %s is not accused", (does) => {
  const others = expectAll(does).filter(({ result }) => result !== "passed");
  expect(others.map(({ id, result, reason }) => [id, result, reason])).toEqual([]);
});

it.each(namesOf(hardToSee))("a receiver in JavaScript that %s fails no must", (does) => {
  const accused = expectAll(does).filter(
    ({ result, level }) => result === "failed" && level === "must",
  );
  expect(accused.map(({ id, reason }) => [id, reason])).toEqual([]);
});

/** The same items in an order that a seed decides. */
function shuffled<T>(items: readonly T[], seed: number): readonly T[] {
  const { fraction } = createRandom(seed);
  return items
    .map((item) => [fraction(), item] as const)
    .sort(([one], [other]) => one - other)
    .map(([, item]) => item);
}

/** As a partner writes it: the raw body by middleware, then the handler. */
function onExpress(framework: typeof express) {
  return (ledger: Ledger) => ({ createServer: () => expressServer(framework, ledger) });
}

function expressServer(framework: typeof express, ledger: Ledger): Server {
  const receiver = new RightReceiver(ledger);
  const app = framework();
  app.use(framework.raw({ type: () => true, limit: "1mb", inflate: false }));
  app.use(async (req, res) => {
    const body: unknown = req.body;
    const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0);
    const [status, text] = await receiver.receive(req, bytes);
    res.status(status).type("text/plain").send(text);
  });
  // Express knows it by its four parameters.
  const refuse: ErrorRequestHandler = (_error, req, res, _next) => {
    if (!req.complete) res.set("connection", "close");
    res.status(409).send("refused");
  };
  app.use(refuse);
  return http.createServer(app);
}

function withServer(change: (server: Server, serve: RequestListener) => unknown) {
  return replacing("createServer", (right) => {
    const server = right.createServer();
    change(server, (req, res) => void right.serve(req, res));
    return server;
  });
}

function tolerating(seconds: number) {
  return overriding({
    isFresh: ({ timestamp }) => Math.abs(Date.now() / 1_000 - Number(timestamp)) <= seconds,
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

/** PostgreSQL's jsonb holds no NUL and no half of a surrogate pair. */
function hasOddText(value: unknown): boolean {
  return value instanceof Object
    ? Object.entries(value).flat().some(hasOddText)
    : /[\0\p{Surrogate}]/u.test(String(value));
}
