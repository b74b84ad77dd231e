import { installedVersion } from "../install.js";
import type { Platform } from "../platform.js";
import { startServer } from "../start-server.js";

/** Hapi on Node. */
export const rows: readonly Platform[] = [
  {
    name: "Hapi 21",
    folder: "hapi",
    version: () => installedVersion("hapi", "@hapi/hapi"),
    app: "app.mjs",
    start: (ledgerUrl) =>
      startServer(
        { folder: "hapi", args: () => ["app.mjs"], path: "/webhooks/gateway" },
        ledgerUrl,
      ),
  },
];
