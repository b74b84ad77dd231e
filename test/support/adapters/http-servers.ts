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

export const expressServer = expressServerOf(express);
export const fastifyServer = fastifyServerOf(() => fastify());
export const koaServer: CreateServer = (receiver, options) =>
  http.createServer(koaListener(new Koa(), receiver, options));

/** The adapters that read a Node stream themselves. */
const newestNodeServers: readonly (readonly [name: string, createServer: CreateServer])[] = [
  ["node", (receiver, options) => http.createServer(nodeHandler(receiver, options))],
  ["express", expressServer],
  ["fastify", fastifyServer],
  ["koa", koaServer],
];

const honoFetch = (...[receiver, options]: Parameters<CreateServer>) =>
  new Hono().all("/", honoHandler(receiver, options)).fetch;

/** The adapters that read a `Request`, on Node. */
const fetchServers: readonly (readonly [name: string, createServer: CreateServer])[] = [
  ["hono on @hono/node-server", (...given) => createAdaptorServer({ fetch: honoFetch(...given) })],
  [
    "fetch on @hono/node-server",
    (...given) => createAdaptorServer({ fetch: fetchHandler(...given) }),
  ],
];

const { createServer } = http2;

/** The adapters on HTTP/2 in cleartext. */
export const http2Servers: readonly (readonly [name: string, createServer: CreateServer])[] = [
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

const isNewest = inject("servers") === "newest";

/** Servers whose requests are Node streams: the newest in `npm test`, older ones in `npm run test:all`. */
const nodeServers = isNewest
  ? newestNodeServers
  : (await import("./other-servers.js")).otherNodeServers;

/** The same, and those that have a `Request` on Node. All over HTTP/1. */
export const httpServers = isNewest ? [...nodeServers, ...fetchServers] : nodeServers;

/** Those whose adapter reads Node's stream itself. A fetch handler gets what its server reads. */
export const streamServers = httpServers.filter(([name]) => !name.startsWith("fetch"));
