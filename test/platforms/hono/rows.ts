import { installedVersion } from "../install.js";
import type { Platform } from "../platform.js";
import { startServer } from "../start-server.js";

/** Hono on @hono/node-server. */
export const rows: readonly Platform[] = [
  {
    name: "Hono on Node",
    folder: "hono",
    version: () => installedVersion("hono", "hono"),
    app: "app.mjs",
    start: (ledgerUrl) =>
      startServer(
        { folder: "hono", args: () => ["app.mjs"], path: "/webhooks/gateway" },
        ledgerUrl,
      ),
  },
];
