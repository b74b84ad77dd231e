import { createHash } from "node:crypto";
import http, { type Server } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { createAdaptorServer } from "@hono/node-server";
import express, { type ErrorRequestHandler } from "express";
import express4 from "express4";
import { Hono } from "hono";
import { expressHandler } from "../../adapters/express.js";
import { nodeHandler } from "../../adapters/node.js";
import { isJson } from "../support/is-json.js";
import type { Ledger } from "../support/ledger.js";
import { ledgerReceiver } from "../support/testing/run-suite.js";
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
  type Receivers,
} from "./flaw.js";
import { RightReceiver, type Answer } from "./right-receiver.js";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const served = (create: (ledger: Ledger) => Server) => (ledger: Ledger) => ({
  createServer: () => create(ledger),
});

/** Receivers without a flaw, each of another kind. */
export const RIGHT: Receivers = {
  "is by hand on node:http": (ledger) => new RightReceiver(ledger),
  "is by hand on Hono": served(onHono),
  ...each("is by hand on", (framework) => served((ledger) => onExpress(framework, ledger)), {
    "Express 5 with express.raw": express,
    "Express 4 with express.raw": express4,
  }),
  ...each("is this library on", served, {
    "node:http": (ledger) => http.createServer(nodeHandler(ledgerReceiver(ledger))),
    "Express 5": (ledger) =>
      http.createServer(express().all("/*path", expressHandler(ledgerReceiver(ledger)))),
  }),
};

/** Receivers that do something unusual and harmless. */
export const VARIANTS: Receivers = {
  "answers 204": answering([204, ""]),
  "answers 202": answering([202, "accepted"]),
  "answers 201 with a location": answering([201, "", { location: "/alarms/1" }]),
  "answers HTML": answering([200, "<p>ok</p>", { "content-type": "text/html" }]),
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
  "answers 409 to an unknown type": overriding({ unknown: () => [409, "unknown"] }),
  "answers 500 to an unknown record": overriding({ unknown: () => [500, "unknown"] }),
  "answers 500 to an unreadable body": overriding({ unreadable: () => [500, "no JSON"] }),
  "answers 409 to an unreadable body": overriding({ unreadable: () => [409, "no JSON"] }),
  "answers 408 to an old timestamp": refusing("stale", 408),
  "tolerates two minutes": tolerating(120),
  "tolerates half an hour": tolerating(1_800),
  "stores hashes of ids": keyed(({ id }) => createHash("sha256").update(id).digest("base64")),
  "stores ids with their type": keyed(({ id, type }) => `${type}/${id}`),
  "stores UUIDs in upper case": keyed(({ id }) => (UUID.test(id) ? id.toUpperCase() : id)),
  "has several secrets": replacing("secrets", (right, request) => [
    "whsec_old_0123456789abcdef",
    ...right.secrets(request),
    "whsec_next_0123456789abc",
  ]),
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
  "takes a while for each delivery": replacing("handle", async (right, request, record) => {
    await wait(5);
    await right.handle(request, record);
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
};

/** As a partner writes it: the raw body by middleware, then the handler. */
function onExpress(framework: typeof express, ledger: Ledger): Server {
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
  // eslint-disable-next-line @typescript-eslint/no-unused-vars
  const refuse: ErrorRequestHandler = (_error, req, res, _next) => {
    if (!req.complete) res.set("connection", "close");
    res.status(409).send("refused");
  };
  app.use(refuse);
  return http.createServer(app);
}

function onHono(ledger: Ledger): Server {
  const receiver = new RightReceiver(ledger);
  const app = new Hono<{ Bindings: { incoming: http.IncomingMessage } }>();
  // An upload that breaks off needs no answer, and no line in a log.
  app.onError((_error, { body }) => body(null, 500));
  app.all("*", async ({ env, body }) => {
    const limited = await receiver.readBody(env.incoming);
    if (limited === undefined) return body("too large", 409, { connection: "close" });
    const [status, text, headers] = await receiver.receive(env.incoming, limited);
    return new Response(text, { status, headers: headers ?? {} });
  });
  return createAdaptorServer({ fetch: app.fetch }) as Server;
}

function answering(answer: Answer) {
  return overriding({ done: () => answer, duplicate: () => answer });
}

function tolerating(seconds: number) {
  return overriding({
    isFresh: ({ timestamp }) => Math.abs(Date.now() / 1_000 - Number(timestamp)) <= seconds,
  });
}
