import { installedVersion } from "../install.js";
import type { Platform } from "../platform.js";
import { startServer } from "../start-server.js";

/** h3 1 on Node. */
export const rows: readonly Platform[] = [
  {
    name: "h3 1",
    folder: "h3-1",
    version: () => installedVersion("h3-1", "h3"),
    app: "app.mjs",
    start: (ledgerUrl) =>
      startServer(
        { folder: "h3-1", args: () => ["app.mjs"], path: "/webhooks/gateway" },
        ledgerUrl,
      ),
  },
];
