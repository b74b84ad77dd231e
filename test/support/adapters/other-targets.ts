import http from "node:http";
import http2 from "node:http2";
import https from "node:https";
import * as h3v1 from "h3-1";
import * as h3v2 from "h3-2";
import { toNodeHandler } from "h3-2/node";
import { Hono } from "hono";
import { fetchHandler } from "../../../adapters/fetch.js";
import { honoHandler } from "../../../adapters/hono.js";
import { nodeHandler } from "../../../adapters/node.js";
import { testCertificate } from "../servers.js";
import type { AdapterTarget } from "./adapter-exchange.js";
import { http2Servers } from "./http-servers.js";
import {
  fastify4OverHttps,
  fastify5OverClearHttp2,
  fastify5OverHttp2,
  koa3OverHttp2,
  otherNodeServers,
} from "./other-servers.js";
import { clearHttp2, https1, inProcess, overHttp, secureHttp2 } from "./target-kinds.js";

/** Older servers, and each adapter without a server, over TLS, over HTTP/2 and mounted in other frameworks. */
export const otherTargets: readonly AdapterTarget[] = [
  ...otherNodeServers.map(([name, createServer]) => overHttp(name, createServer)),
  ...http2Servers.map(([name, createServer]) =>
    overHttp(`${name} with cleartext HTTP/2`, createServer, clearHttp2),
  ),
  overHttp(
    "node on https",
    (receiver) => https.createServer(testCertificate, nodeHandler(receiver)),
    https1,
  ),
  overHttp(
    "node on HTTP/2",
    (receiver) => http2.createSecureServer(testCertificate, nodeHandler(receiver)),
    secureHttp2,
  ),
  overHttp("node on h3 1", (receiver) => {
    const app = h3v1.createApp().use("/", h3v1.fromNodeMiddleware(nodeHandler(receiver)));
    return http.createServer(h3v1.toNodeListener(app));
  }),
  overHttp("node on h3 2", (receiver) => {
    // Every path: @hono/node-server replaces the global Response of this process, and h3 then answers 200 to others.
    const app = new h3v2.H3().all("/**", h3v2.fromNodeHandler(nodeHandler(receiver)));
    return http.createServer(toNodeHandler(app));
  }),
  overHttp("fastify 4 on https", fastify4OverHttps, https1),
  overHttp("fastify 5 on HTTP/2", fastify5OverHttp2, secureHttp2),
  overHttp("fastify 5 on cleartext HTTP/2", fastify5OverClearHttp2, clearHttp2),
  overHttp("koa 3 on HTTP/2", koa3OverHttp2, secureHttp2),
  inProcess("hono in process", (receiver) => {
    const app = new Hono().all("/", honoHandler(receiver));
    return (request) => app.request(request);
  }),
  inProcess("fetch in process", (receiver) => fetchHandler(receiver)),
];
