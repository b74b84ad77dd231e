import http from "node:http";
import http2 from "node:http2";
import https from "node:https";
import type { Server } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import express from "express";
import express4 from "express4";
import * as h3v1 from "h3-1";
import * as h3v2 from "h3-2";
import { toNodeHandler } from "h3-2/node";
import { Hono } from "hono";
import { expressHandler } from "../../../adapters/express.js";
import { fetchHandler } from "../../../adapters/fetch.js";
import { honoHandler } from "../../../adapters/hono.js";
import { nodeHandler } from "../../../adapters/node.js";
import type { WebhookReceiver } from "../../../src/index.js";
import type { Target } from "../../../src/testing/sending/target.js";
import { recordOf, type WireRequest } from "../../../src/testing/sending/wire.js";
import {
  fastify4OverHttps,
  fastify4Server,
  fastify5OverClearHttp2,
  fastify5OverHttp2,
  fastify5Server,
} from "../../platforms/fastify/servers.js";
import { koa2Server, koa3OverHttp2, koa3Server } from "../../platforms/koa/servers.js";
import type { AdapterTarget } from "./adapter-exchange.js";
import { http1Client, http2Client, type HttpClient } from "./http-clients.js";
import { lambdaTargets } from "./lambda-targets.js";
import { ownFrameworkListener } from "./own-adapter.js";
import { listen, testCertificate } from "../servers.js";

/** The client for a server. */
interface Speech {
  readonly connect: (port: number) => HttpClient;
  /** The target for the testing kit, which speaks HTTP/1.1 only. */
  readonly targetOf: (port: number, client: HttpClient) => Target;
}

const http1: Speech = {
  connect: http1Client,
  targetOf: (port) => `http://127.0.0.1:${port}/`,
};

const https1: Speech = {
  connect: (port) => http1Client(port, testCertificate().cert),
  targetOf: (port) => `https://127.0.0.1:${port}/`,
};

const clearHttp2: Speech = { connect: http2Client, targetOf: (_port, client) => fetchOver(client) };

const secureHttp2: Speech = {
  connect: (port) => http2Client(port, testCertificate().cert),
  targetOf: (_port, client) => fetchOver(client),
};

/** `fetch` by a client of ours. */
function fetchOver({ send }: HttpClient): (request: Request) => Promise<Response> {
  return async (request) => {
    const chunked = !request.headers.has("content-length");
    const headers = [...request.headers].filter(([name]) => name !== "content-length");
    const body = request.body === null ? undefined : new Uint8Array(await request.arrayBuffer());
    const { method } = request;
    const { body: text, ...answer } = await send({ method, headers, body, chunked });
    return new Response(text, answer);
  };
}

/** A server, and a client to it over real HTTP. */
function overHttp(
  name: string,
  createServer: (receiver: WebhookReceiver) => Server | Promise<Server>,
  { connect, targetOf }: Speech = http1,
): AdapterTarget {
  return {
    name,
    async open(receiver) {
      const server = await listen(await createServer(receiver));
      const client = connect(server.port);
      return {
        target: targetOf(server.port, client),
        send: client.send,
        connections: client.connections,
        close() {
          client.close();
          return server.close();
        },
      };
    },
  };
}

/** A function from `Request` to `Response`, called without a server. */
function inProcess(
  name: string,
  mount: (receiver: WebhookReceiver) => (request: Request) => Response | Promise<Response>,
): AdapterTarget {
  return {
    name,
    open(receiver) {
      const handle = mount(receiver);
      return Promise.resolve({
        target: handle,
        async send(request) {
          const response = await handle(requestOf(request));
          const headers = Object.fromEntries(response.headers);
          return { status: response.status, headers, body: await response.text() };
        },
        close: () => Promise.resolve(),
      });
    },
  };
}

/** A request as the Fetch API has it. */
export function requestOf({ method, headers, body, chunked = false }: WireRequest): Request {
  const lines = headers.map(([name, value]): [string, string] => [name, value]);
  const isDeclared = body !== undefined && !chunked;
  const length: [string, string][] = isDeclared ? [["content-length", String(body.length)]] : [];
  return new Request("http://gateway.example/", {
    method,
    headers: [...lines, ...length],
    ...(body === undefined ? {} : { body }),
  });
}

const honoApp = (receiver: WebhookReceiver) => new Hono().all("/", honoHandler(receiver));

/** `receive` itself. All adapters must agree with it. */
export const directTarget: AdapterTarget = {
  name: "receive",
  open: (receiver) =>
    Promise.resolve({
      target: receiver,
      send: ({ method, headers, body = new Uint8Array(0) }) =>
        receiver.receive({ method, headers: recordOf(headers), body }),
      close: () => Promise.resolve(),
    }),
};

/** Every adapter, on every kind of server that it supports. */
export const adapterTargets: readonly AdapterTarget[] = [
  overHttp("express 5", (receiver) =>
    http.createServer(express().all("/", expressHandler(receiver))),
  ),
  overHttp("express 4", (receiver) =>
    http.createServer(express4().all("/", expressHandler(receiver))),
  ),
  overHttp("node on http", (receiver) => http.createServer(nodeHandler(receiver))),
  overHttp(
    "node on https",
    (receiver) => https.createServer(testCertificate(), nodeHandler(receiver)),
    https1,
  ),
  overHttp(
    "node on HTTP/2",
    (receiver) => http2.createSecureServer(testCertificate(), nodeHandler(receiver)),
    secureHttp2,
  ),
  overHttp(
    "node on cleartext HTTP/2",
    (receiver) => http2.createServer(nodeHandler(receiver)),
    clearHttp2,
  ),
  overHttp("node on h3 1", (receiver) => {
    const app = h3v1.createApp().use("/", h3v1.fromNodeMiddleware(nodeHandler(receiver)));
    return http.createServer(h3v1.toNodeListener(app));
  }),
  overHttp("node on h3 2", (receiver) => {
    const app = new h3v2.H3().all("/", h3v2.fromNodeHandler(nodeHandler(receiver)));
    return http.createServer(toNodeHandler(app));
  }),
  overHttp("fastify 4", fastify4Server),
  overHttp("fastify 5", fastify5Server),
  overHttp("fastify 4 on https", fastify4OverHttps, https1),
  overHttp("fastify 5 on HTTP/2", fastify5OverHttp2, secureHttp2),
  overHttp("fastify 5 on cleartext HTTP/2", fastify5OverClearHttp2, clearHttp2),
  overHttp("koa 2", koa2Server),
  overHttp("koa 3", koa3Server),
  overHttp("koa 3 on HTTP/2", koa3OverHttp2, secureHttp2),
  overHttp("an adapter of one's own", (receiver) =>
    http.createServer(ownFrameworkListener(receiver)),
  ),
  inProcess("hono in process", (receiver) => (request) => honoApp(receiver).request(request)),
  overHttp("hono on @hono/node-server", (receiver) =>
    createAdaptorServer({ fetch: honoApp(receiver).fetch }),
  ),
  inProcess("fetch in process", (receiver) => fetchHandler(receiver)),
  overHttp("fetch on @hono/node-server", (receiver) =>
    createAdaptorServer({ fetch: fetchHandler(receiver) }),
  ),
  overHttp(
    "fetch on @hono/node-server with HTTP/2",
    (receiver) =>
      createAdaptorServer({ fetch: fetchHandler(receiver), createServer: http2.createServer }),
    clearHttp2,
  ),
  ...lambdaTargets,
];
