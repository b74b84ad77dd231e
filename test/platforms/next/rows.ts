import { installedVersion } from "../install.js";
import type { Platform } from "../platform.js";
import { startServer } from "../start-server.js";

const next = (command: string) => (port: number) => [
  "node_modules/next/dist/bin/next",
  ...[command, "--port", String(port), "--hostname", "127.0.0.1"],
];

const row = (route: Pick<Platform, "name" | "app">, path: string): Platform => ({
  ...route,
  folder: "next",
  version: () => installedVersion("next", "next"),
  complaint: "API resolved without sending a response",
  start: (ledgerUrl) =>
    startServer(
      { folder: "next", args: next("dev"), path, env: () => ({ NEXT_TELEMETRY_DISABLED: "1" }) },
      ledgerUrl,
    ),
});

/** Both kinds of routes of Next, in its development server. */
export const rows: readonly Platform[] = [
  row({ name: "Next pages/api", app: "pages/api/webhook.js" }, "/api/webhook"),
  row({ name: "Next app route", app: "app/webhook/route.js" }, "/webhook"),
];
