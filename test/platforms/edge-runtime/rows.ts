import { installedVersion } from "../install.js";
import type { Platform } from "../platform.js";
import { startServer } from "../start-server.js";
import { bundling } from "../bundling.js";

/** An edge function in Vercel's edge runtime. */
export const rows: readonly Platform[] = [
  {
    name: "Edge runtime",
    folder: "edge-runtime",
    version: () => installedVersion("edge-runtime", "edge-runtime"),
    app: "api/webhook.mjs",
    remark: "bundled with the condition `edge-light`",
    start: (ledgerUrl) =>
      startServer(
        {
          folder: "edge-runtime",
          build: bundling("entry.mjs", "build/webhook.js", "edge-light", "iife"),
          args: () => ["host.mjs"],
        },
        ledgerUrl,
      ),
  },
];
