import http, { type RequestListener } from "node:http";
import http2 from "node:http2";
import type { Server } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import Koa from "koa";
import { inject } from "vitest";
import { expressHandler } from "../../../adapters/express.js";
import { fastifyPlugin, type FastifyPluginOptions } from "../../../adapters/fastify.js";
import { fetchHandler } from "../../../adapters/fetch.js";
import { honoHandler } from "../../../adapters/hono.js";
import type { BodyOptions } from "../../../adapters/http/body-limits.js";
import { koaHandler } from "../../../adapters/koa.js";
import { nodeHandler } from "../../../adapters/node.js";
import type { WebhookReceiver } from "../../../src/index.js";
import type { CreateServer } from "../listening-receiver.js";

/** A server of Express, of either version, with the receiver at `/`. */
export const expressServerOf =
  (create: typeof express): CreateServer =>
  (receiver, options) =>
    http.createServer(create().all("/", expressHandler(receiver, options)));

interface FastifyApp {
  register(plugin: typeof fastifyPlugin, options: FastifyPluginOptions): unknown;
  ready(): PromiseLike<unknown>;
  readonly server: Server;
}

/** A server of Fastify, of either version, with the receiver at `/`. */
export const fastifyServerOf =
  (createApp: () => FastifyApp) =>
  async (receiver: WebhookReceiver, options: BodyOptions = {}): Promise<Server> => {
    const app = createApp();
    app.register(fastifyPlugin, { receiver, path: "/", ...options });
    await app.ready();
    return app.server;
  };

/** A listener of Koa, of either version, with the receiver on every path. */
export function koaListener(
  app: Koa,
  receiver: WebhookReceiver,
  options?: BodyOptions,
): RequestListener {
  const listener = app.use(koaHandler(receiver, options)).callback();
  return (req, res) => void listener(req, res);
}

/** Servers with a receiver at `/`. */
export type Servers = readonly (readonly [name: string, createServer: CreateServer])[];

const honoFetch = (...[receiver, options]: Parameters<CreateServer>) =>
  new Hono().all("/", honoHandler(receiver, options)).fetch;

/** Each adapter on its newest server: those that read a Node stream themselves, and those that read a `Request`. */
export const newestServers: Servers = [
  ["node", (...given) => http.createServer(nodeHandler(...given))],
  ["express", expressServerOf(express)],
  ["fastify", fastifyServerOf(() => fastify())],
  ["koa", (...given) => http.createServer(koaListener(new Koa(), ...given))],
  ["hono on @hono/node-server", (...given) => createAdaptorServer({ fetch: honoFetch(...given) })],
  [
    "fetch on @hono/node-server",
    (...given) => createAdaptorServer({ fetch: fetchHandler(...given) }),
  ],
];

const { createServer } = http2;

/** The adapters on HTTP/2 in cleartext. */
export const http2Servers: Servers = [
  ["node", (...given) => createServer(nodeHandler(...given))],
  [
    "hono on @hono/node-server",
    (...given) => createAdaptorServer({ fetch: honoFetch(...given), createServer }),
  ],
  [
    "fetch on @hono/node-server",
    (...given) => createAdaptorServer({ fetch: fetchHandler(...given), createServer }),
  ],
];

/** Servers over HTTP/1: the newest in `npm test`, and older ones of Node streams in `npm run test:all`. */
export const httpServers =
  inject("servers") === "newest"
    ? newestServers
    : (await import("./other-servers.js")).otherNodeServers;

/** Those whose adapter reads Node's stream itself. A fetch handler gets what its server reads. */
export const streamServers = httpServers.filter(([name]) => !name.startsWith("fetch"));
