import { installedVersion } from "../install.js";
import type { Platform } from "../platform.js";
import { startServer } from "../start-server.js";

const rowOf = (major: number, packageName: string): Platform => ({
  name: `Koa ${major}`,
  folder: "koa",
  version: () => installedVersion("koa", packageName),
  app: `app-${major}.mjs`,
  start: (ledgerUrl) =>
    startServer(
      { folder: "koa", args: () => [`app-${major}.mjs`], path: "/webhooks/gateway" },
      ledgerUrl,
    ),
});

/** Koa 2 and 3 on Node. */
export const rows: readonly Platform[] = [rowOf(2, "koa2"), rowOf(3, "koa")];
