import { installedVersion } from "../install.js";
import type { Platform } from "../platform.js";
import { startServer } from "../start-server.js";

const rowOf = (major: number, packageName: string): Platform => ({
  name: `Fastify ${major}`,
  folder: "fastify",
  version: () => installedVersion("fastify", packageName),
  app: `app-${major}.mjs`,
  start: (ledgerUrl) =>
    startServer(
      { folder: "fastify", args: () => [`app-${major}.mjs`], path: "/webhooks/gateway" },
      ledgerUrl,
    ),
});

/** Fastify 4 and 5 on Node. */
export const rows: readonly Platform[] = [rowOf(4, "fastify4"), rowOf(5, "fastify")];
