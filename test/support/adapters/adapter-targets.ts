import http from "node:http";
import { inject } from "vitest";
import type { AdapterTarget } from "./adapter-exchange.js";
import { newestServers } from "./http-servers.js";
import { lambdaTargets } from "./lambda-targets.js";
import { ownFrameworkListener } from "./own-adapter.js";
import { overHttp } from "./target-kinds.js";

/** Each adapter once, over HTTP where it has a server. */
const newestTargets: readonly AdapterTarget[] = [
  ...newestServers.map(([name, createServer]) => overHttp(name, createServer)),
  overHttp("an adapter of one's own", (receiver) =>
    http.createServer(ownFrameworkListener(receiver)),
  ),
  ...lambdaTargets,
];

/** What the adapters are tested on: the newest servers in `npm test`, all others in `npm run test:all`. */
export const adapterTargets: readonly AdapterTarget[] =
  inject("servers") === "newest"
    ? newestTargets
    : (await import("./other-targets.js")).otherTargets;
