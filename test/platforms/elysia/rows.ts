import { BUN } from "../bun/program.js";
import { installedVersion } from "../install.js";
import type { Platform } from "../platform.js";
import { startServer } from "../start-server.js";

const row = (name: string, program: string, app: string): Platform => ({
  name,
  folder: "elysia",
  needs: ["bun"],
  version: () => installedVersion("elysia", "elysia"),
  app,
  start: (ledgerUrl) =>
    startServer(
      { folder: "elysia", program, args: () => [app], path: "/webhooks/gateway" },
      ledgerUrl,
    ),
});

/** Elysia on both of its runtimes. */
export const rows: readonly Platform[] = [
  row("Elysia on Bun", BUN, "bun.mjs"),
  row("Elysia on Node", process.execPath, "node.mjs"),
];
