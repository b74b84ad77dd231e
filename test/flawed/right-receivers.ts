import http, { type Server } from "node:http";
import { createAdaptorServer } from "@hono/node-server";
import express, { type ErrorRequestHandler } from "express";
import express4 from "express4";
import { Hono } from "hono";
import { expressHandler } from "../../adapters/express.js";
import { nodeHandler } from "../../adapters/node.js";
import type { Ledger } from "../support/ledger.js";
import { ledgerReceiver } from "../support/testing/run-suite.js";
import { RightReceiver } from "./right-receiver.js";

/** Receivers without a flaw, each of another kind. */
export const RIGHT_RECEIVERS: readonly (readonly [
  name: string,
  create: (ledger: Ledger) => Server,
])[] = [
  ["by hand on node:http", (ledger) => new RightReceiver(ledger).createServer()],
  ["by hand on Express 5 with express.raw", (ledger) => onExpress(express, ledger)],
  ["by hand on Express 4 with express.raw", (ledger) => onExpress(express4, ledger)],
  ["by hand on Hono", onHono],
  ["this library on node:http", (ledger) => http.createServer(nodeHandler(ledgerReceiver(ledger)))],
  [
    "this library on Express 5",
    (ledger) => http.createServer(express().all("/*path", expressHandler(ledgerReceiver(ledger)))),
  ],
];

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
