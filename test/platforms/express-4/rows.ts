import { installedVersion } from "../install.js";
import type { Platform } from "../platform.js";
import { startServer } from "../start-server.js";

/** Express 4 on Node. */
export const rows: readonly Platform[] = [
  {
    name: "Express 4",
    folder: "express-4",
    version: () => installedVersion("express-4", "express"),
    app: "app.mjs",
    start: (ledgerUrl) =>
      startServer(
        { folder: "express-4", args: () => ["app.mjs"], path: "/webhooks/gateway" },
        ledgerUrl,
      ),
  },
];
