import http from "node:http";
import { createAdaptorServer } from "@hono/node-server";
import express from "express";
import { Hono } from "hono";
import { expressHandler } from "../../../adapters/express.js";
import { fetchHandler } from "../../../adapters/fetch.js";
import { honoHandler } from "../../../adapters/hono.js";
import { nodeHandler } from "../../../adapters/node.js";
import { fastify4Server, fastify5Server } from "../../platforms/fastify/servers.js";
import { koa2Server, koa3Server } from "../../platforms/koa/servers.js";
import type { CreateServer } from "../listening-receiver.js";

/** The adapters that read a Node stream themselves. */
export const nodeServers: readonly (readonly [name: string, createServer: CreateServer])[] = [
  ["node", (receiver, options) => http.createServer(nodeHandler(receiver, options))],
  [
    "express 5",
    (receiver, options) => http.createServer(express().all("/", expressHandler(receiver, options))),
  ],
  ["fastify 4", fastify4Server],
  ["fastify 5", fastify5Server],
  ["koa 2", koa2Server],
  ["koa 3", koa3Server],
];

/** The adapters that read a `Request`, on Node. */
const fetchServers: readonly (readonly [name: string, createServer: CreateServer])[] = [
  [
    "hono on @hono/node-server",
    (receiver, options) =>
      createAdaptorServer({ fetch: new Hono().all("/", honoHandler(receiver, options)).fetch }),
  ],
  [
    "fetch on @hono/node-server",
    (receiver, options) => createAdaptorServer({ fetch: fetchHandler(receiver, options) }),
  ],
];

/** All adapters, over HTTP/1. */
export const httpServers = [...nodeServers, ...fetchServers];
