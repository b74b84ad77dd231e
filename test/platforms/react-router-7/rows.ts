import { installedVersion } from "../install.js";
import type { Platform } from "../platform.js";
import { startServer } from "../start-server.js";

/** A build of React Router, on its own server. */
export const rows: readonly Platform[] = [
  {
    name: "React Router 7",
    folder: "react-router-7",
    version: () => installedVersion("react-router-7", "react-router"),
    app: "app/routes/webhook.js",
    start: (ledgerUrl) =>
      startServer(
        {
          folder: "react-router-7",
          build: [process.execPath, "node_modules/@react-router/dev/bin.js", "build"],
          args: () => ["node_modules/@react-router/serve/bin.js", "build/server/index.js"],
          path: "/webhooks/gateway",
        },
        ledgerUrl,
      ),
  },
];
