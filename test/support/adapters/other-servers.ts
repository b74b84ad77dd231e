import http from "node:http";
import http2 from "node:http2";
import express4 from "express4";
import { fastify4, fastify5 } from "../../platforms/fastify/fastify.js";
import { Koa2, Koa3 } from "../../platforms/koa/koa.mjs";
import { testCertificate } from "../servers.js";
import { expressServerOf, fastifyServerOf, koaListener, type Servers } from "./http-servers.js";
import type { CreateServer } from "../listening-receiver.js";

export const fastify4OverHttps = fastifyServerOf(() => fastify4({ https: testCertificate }));
export const fastify5OverHttp2 = fastifyServerOf(() =>
  fastify5({ http2: true, https: testCertificate }),
);
export const fastify5OverClearHttp2 = fastifyServerOf(() => fastify5({ http2: true }));

export const koa3OverHttp2: CreateServer = (receiver, options) =>
  // The types of Koa know only HTTP/1.
  http2.createSecureServer(testCertificate, koaListener(new Koa3(), receiver, options) as never);

/** Older versions of the servers that read a Node stream. */
export const otherNodeServers: Servers = [
  ["express 4", expressServerOf(express4)],
  ["fastify 4", fastifyServerOf(() => fastify4())],
  ["koa 2", (...given) => http.createServer(koaListener(new Koa2(), ...given))],
];
