import { installedVersion } from "../install.js";
import type { Platform } from "../platform.js";
import { startServer, type ServerOptions } from "../start-server.js";

const NEXT = "node_modules/next/dist/bin/next";

const row = (
  { name, app, isSlow = false }: Pick<Platform, "name" | "app" | "isSlow">,
  server: Pick<ServerOptions, "build" | "path">,
): Platform => ({
  name,
  folder: "next",
  version: () => installedVersion("next", "next"),
  app,
  isSlow,
  complaint: "API resolved without sending a response",
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

const api = { path: "/api/webhook" };
const app = { path: "/webhook" };
const built = { build: [process.execPath, NEXT, "build"] } as const;

/** Both kinds of routes of Next, in its development server and in a production build. */
export const rows: readonly Platform[] = [
  row({ name: "Next pages/api, dev", app: "pages/api/webhook.js" }, api),
  row({ name: "Next app route, dev", app: "app/webhook/route.js" }, app),
  row(
    { name: "Next pages/api, built", app: "pages/api/webhook.js", isSlow: true },
    { ...api, ...built },
  ),
  row(
    { name: "Next app route, built", app: "app/webhook/route.js", isSlow: true },
    { ...app, ...built },
  ),
];
