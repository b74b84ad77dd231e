import type { Platform } from "../platform.js";
import { serverRow } from "../server-row.js";
import type { ServerOptions } from "../start-server.js";

const NEXT = "node_modules/next/dist/bin/next";

const row = (
  described: Pick<Platform, "name" | "app" | "remark">,
  server: Pick<ServerOptions, "build" | "path">,
) =>
  serverRow({
    ...described,
    folder: "next",
    versionOf: "next",
    args: (port) => [
      NEXT,
      server.build === undefined ? "dev" : "start",
      "--port",
      String(port),
      "--hostname",
      "127.0.0.1",
    ],
    env: () => ({ NEXT_TELEMETRY_DISABLED: "1" }),
    ...server,
  });

const api = { path: "/api/webhooks/gateway" };
const app = { path: "/webhooks/gateway" };
const built = { build: [process.execPath, NEXT, "build"] } as const;

const PAGES_API = "pages/api/webhooks/gateway.js";
const APP_ROUTE = "app/webhooks/gateway/route.js";
const HANGS_UP =
  "writes `API resolved without sending a response` when a sender hangs up: it does no harm";

/** Both kinds of routes of Next, in its development server and in a production build. */
export const rows = [
  row({ name: "Next pages/api, dev", app: PAGES_API, remark: HANGS_UP }, api),
  row({ name: "Next app route, dev", app: APP_ROUTE }, app),
  row({ name: "Next pages/api, built", app: PAGES_API }, { ...api, ...built }),
  row({ name: "Next app route, built", app: APP_ROUTE }, { ...app, ...built }),
];
