import { installedVersion } from "../install.js";
import type { Platform } from "../platform.js";
import { startServer } from "../start-server.js";
import { BUN } from "./program.js";

/** Bun's own server. */
export const rows: readonly Platform[] = [
  {
    name: "Bun",
    folder: "bun",
    version: () => installedVersion("bun", "@oven/bun-linux-x64"),
    app: "app.mjs",
    start: (ledgerUrl) =>
      startServer({ folder: "bun", program: BUN, args: () => ["app.mjs"] }, ledgerUrl),
  },
];
