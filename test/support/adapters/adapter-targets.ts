import http from "node:http";
import { createAdaptorServer } from "@hono/node-server";
import { Hono } from "hono";
import { inject } from "vitest";
import { fetchHandler } from "../../../adapters/fetch.js";
import { honoHandler } from "../../../adapters/hono.js";
import { nodeHandler } from "../../../adapters/node.js";
import type { AdapterTarget } from "./adapter-exchange.js";
import { expressServer, fastifyServer, koaServer } from "./http-servers.js";
import { lambdaTargets } from "./lambda-targets.js";
import { ownFrameworkListener } from "./own-adapter.js";
import { overHttp } from "./target-kinds.js";

/** Each adapter once, over HTTP where it has a server. */
const newestTargets: readonly AdapterTarget[] = [
  overHttp("express", expressServer),
  overHttp("node on http", (receiver) => http.createServer(nodeHandler(receiver))),
  overHttp("fastify", fastifyServer),
  overHttp("koa", koaServer),
  overHttp("an adapter of one's own", (receiver) =>
    http.createServer(ownFrameworkListener(receiver)),
  ),
  overHttp("hono on @hono/node-server", (receiver) =>
    createAdaptorServer({ fetch: new Hono().all("/", honoHandler(receiver)).fetch }),
  ),
  overHttp("fetch on @hono/node-server", (receiver) =>
    createAdaptorServer({ fetch: fetchHandler(receiver) }),
  ),
  ...lambdaTargets,
];

/** What the adapters are tested on: the newest servers in `npm test`, all others in `npm run test:all`. */
export const adapterTargets: readonly AdapterTarget[] =
  inject("servers") === "newest"
    ? newestTargets
    : (await import("./other-targets.js")).otherTargets;
