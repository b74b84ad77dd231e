import { installedVersion } from "../install.js";
import type { Platform } from "../platform.js";
import { startServer } from "../start-server.js";

/** A function with Vercel's documented signature. */
export const rows: readonly Platform[] = [
  {
    name: "Vercel function",
    folder: "vercel",
    version: () => installedVersion("vercel", "@edge-runtime/node-utils"),
    app: "api/webhook.mjs",
    remark:
      "in a small host with the conversion that `vercel dev` uses (`@edge-runtime/node-utils`)",
    start: (ledgerUrl) => startServer({ folder: "vercel", args: () => ["host.mjs"] }, ledgerUrl),
  },
];
