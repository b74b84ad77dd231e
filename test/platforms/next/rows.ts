import { installedVersion } from "../install.js";
import type { Platform } from "../platform.js";
import { startServer, type ServerOptions } from "../start-server.js";

const NEXT = "node_modules/next/dist/bin/next";

const row = (
  described: Pick<Platform, "name" | "app" | "remark">,
  server: Pick<ServerOptions, "build" | "path">,
): Platform => ({
  ...described,
  folder: "next",
  version: () => installedVersion("next", "next"),
  start: (ledgerUrl) =>
    startServer(
      {
        folder: "next",
        args: (port) => [
          NEXT,
          server.build === undefined ? "dev" : "start",
          ...["--port", String(port), "--hostname", "127.0.0.1"],
        ],
        env: () => ({ NEXT_TELEMETRY_DISABLED: "1" }),
        ...server,
      },
      ledgerUrl,
    ),
});

const api = { path: "/api/webhooks/gateway" };
const app = { path: "/webhooks/gateway" };
const built = { build: [process.execPath, NEXT, "build"] } as const;

/** Both kinds of routes of Next, in its development server and in a production build. */
export const rows: readonly Platform[] = [
  row(
    {
      name: "Next pages/api, dev",
      app: "pages/api/webhooks/gateway.js",
      remark:
        "writes `API resolved without sending a response` when a sender hangs up: it does no harm",
    },
    api,
  ),
  row({ name: "Next app route, dev", app: "app/webhooks/gateway/route.js" }, app),
  row(
    { name: "Next pages/api, built", app: "pages/api/webhooks/gateway.js" },
    { ...api, ...built },
  ),
  row(
    { name: "Next app route, built", app: "app/webhooks/gateway/route.js" },
    { ...app, ...built },
  ),
];
