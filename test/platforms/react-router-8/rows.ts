import { installedVersion } from "../install.js";
import { nodeProgram } from "../node/program.js";
import type { Platform } from "../platform.js";
import { startServer } from "../start-server.js";

/** A build of React Router, on its own server. */
export const rows: readonly Platform[] = [
  {
    name: "React Router 8",
    folder: "react-router-8",
    needs: ["node"],
    version: () => installedVersion("react-router-8", "react-router"),
    app: "app/routes/webhook.js",
    start: (ledgerUrl) =>
      startServer(
        {
          folder: "react-router-8",
          program: nodeProgram(22),
          build: [nodeProgram(22), "node_modules/@react-router/dev/bin.cjs", "build"],
          args: () => ["node_modules/@react-router/serve/bin.cjs", "build/server/index.js"],
          path: "/webhooks/gateway",
        },
        ledgerUrl,
      ),
  },
];
