import { installedVersion } from "../install.js";
import type { Platform } from "../platform.js";
import { startServer } from "../start-server.js";

/** Express 5 on Node. */
export const rows: readonly Platform[] = [
  {
    name: "Express 5",
    folder: "express-5",
    version: () => installedVersion("express-5", "express"),
    app: "app.mjs",
    start: (ledgerUrl) =>
      startServer(
        { folder: "express-5", args: () => ["app.mjs"], path: "/webhooks/gateway" },
        ledgerUrl,
      ),
  },
];
