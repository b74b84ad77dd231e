import { installedVersion } from "../install.js";
import { nodeProgram } from "../node/program.js";
import type { Platform } from "../platform.js";
import { startServer } from "../start-server.js";

/** A build of Nuxt, on Node. */
export const rows: readonly Platform[] = [
  {
    name: "Nuxt 4",
    folder: "nuxt",
    needs: ["node"],
    version: () => installedVersion("nuxt", "nuxt"),
    app: "server/routes/webhooks/gateway.mjs",
    start: (ledgerUrl) =>
      startServer(
        {
          folder: "nuxt",
          program: nodeProgram(22),
          build: [nodeProgram(22), "node_modules/nuxt/bin/nuxt.mjs", "build"],
          args: () => [".output/server/index.mjs"],
          path: "/webhooks/gateway",
        },
        ledgerUrl,
      ),
  },
];
