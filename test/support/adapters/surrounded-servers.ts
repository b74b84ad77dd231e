import http, { type IncomingMessage, type ServerResponse } from "node:http";
import express from "express";
import express4 from "express4";
import { expressHandler } from "../../../adapters/express.js";
import { fastifyHandler } from "../../../adapters/fastify.js";
import { koaHandler } from "../../../adapters/koa.js";
import { nodeHandler } from "../../../adapters/node.js";
import { fastify5 } from "../../platforms/fastify/fastify.js";
import { Koa3 } from "../../platforms/koa/koa.mjs";
import type { CreateServer } from "../listening-receiver.js";

/** A middleware around the adapter, which calls it by `next`. */
export type Around = (next: () => void, req: IncomingMessage, res: ServerResponse) => unknown;

/** The Node adapters, on servers where `around` calls them. */
export const surroundedServers: readonly (readonly [string, (around: Around) => CreateServer])[] = [
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
  ...([express, express4] as const).map(
    (create, index) =>
      [
        `express ${String(5 - index)}`,
        (around: Around): CreateServer =>
          (receiver, options) => {
            const app = create();
            app.use((req, res, next) => {
              around(next, req, res);
            });
            return http.createServer(app.post("/", expressHandler(receiver, options)));
          },
      ] as const,
  ),
  [
    "fastify 5",
    (around) => async (receiver, options) => {
      const app = fastify5();
      app.addHook("onRequest", (request, reply, done) => {
        around(done, request.raw, reply.raw);
      });
      app.register(fastifyHandler(receiver, { path: "/", ...options }));
      await app.ready();
      return app.server;
    },
  ],
  [
    "koa 3",
    (around) => (receiver, options) => {
      const app = new Koa3();
      app.use(({ req, res }, next) => {
        return new Promise((resolve) => {
          around(
            () => {
              resolve(next());
            },
            req,
            res,
          );
        });
      });
      const listener = app.use(koaHandler(receiver, options)).callback();
      return http.createServer((req, res) => void listener(req, res));
    },
  ],
];
