import { installedVersion } from "../install.js";
import type { Platform } from "../platform.js";
import { startServer } from "../start-server.js";

/** Nitro with the preset of a Node server. */
export const rows: readonly Platform[] = [
  {
    name: "Nitro 2",
    folder: "nitro",
    version: () => installedVersion("nitro", "nitropack"),
    app: "routes/webhook.mjs",
    start: (ledgerUrl) =>
      startServer(
        {
          folder: "nitro",
          build: [process.execPath, "node_modules/nitropack/dist/cli/index.mjs", "build"],
          args: () => [".output/server/index.mjs"],
          path: "/webhook",
        },
        ledgerUrl,
      ),
  },
];
