import { installedVersion } from "../install.js";
import type { Platform } from "../platform.js";
import { startServer } from "../start-server.js";

/** Polka on Node. */
export const rows: readonly Platform[] = [
  {
    name: "Polka",
    folder: "polka",
    version: () => installedVersion("polka", "polka"),
    app: "app.mjs",
    start: (ledgerUrl) =>
      startServer(
        { folder: "polka", args: () => ["app.mjs"], path: "/webhooks/gateway" },
        ledgerUrl,
      ),
  },
];
