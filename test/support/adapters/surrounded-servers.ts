import http, { type IncomingMessage, type ServerResponse } from "node:http";
import express from "express";
import fastify from "fastify";
import Koa from "koa";
import { inject } from "vitest";
import { expressHandler } from "../../../adapters/express.js";
import { fastifyPlugin } from "../../../adapters/fastify.js";
import { koaHandler } from "../../../adapters/koa.js";
import { nodeHandler } from "../../../adapters/node.js";
import type { CreateServer } from "../listening-receiver.js";

/** A middleware around the adapter, which calls it by `next`. */
export type Around = (next: () => void, req: IncomingMessage, res: ServerResponse) => unknown;

function surroundedExpress(create: typeof express): (around: Around) => CreateServer {
  return (around) => (receiver, options) => {
    const app = create();
    app.use((req, res, next) => {
      around(next, req, res);
    });
    return http.createServer(app.post("/", expressHandler(receiver, options)));
  };
}

const newestServers: readonly (readonly [string, (around: Around) => CreateServer])[] = [
  [
    "node",
    (around) => (receiver, options) => {
      const handle = nodeHandler(receiver, options);
      return http.createServer((req, res) => {
        const next = () => {
          handle(req, res);
        };
        around(next, req, res);
      });
    },
  ],
  ["express", surroundedExpress(express)],
  [
    "fastify",
    (around) => async (receiver, options) => {
      const app = fastify();
      app.addHook("onRequest", (request, reply, done) => {
        around(done, request.raw, reply.raw);
      });
      app.register(fastifyPlugin, { receiver, path: "/", ...options });
      await app.ready();
      return app.server;
    },
  ],
  [
    "koa",
    (around) => (receiver, options) => {
      const app = new Koa();
      app.use(({ req, res }, next) => {
        return new Promise((resolve) => {
          around(() => resolve(next()), req, res);
        });
      });
      const listener = app.use(koaHandler(receiver, options)).callback();
      return http.createServer((req, res) => void listener(req, res));
    },
  ],
];

/** The Node adapters, on servers where `around` calls them: the newest in `npm test`, Express 4 in `npm run test:all`. */
export const surroundedServers =
  inject("servers") === "newest"
    ? newestServers
    : ([["express 4", surroundedExpress((await import("express4")).default)]] as const);
