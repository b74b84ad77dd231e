import { serverRow } from "../server-row.js";
import { bundling } from "../bundling.js";

/** An edge function in Vercel's edge runtime. */
export const rows = [
  serverRow({
    name: "Edge runtime",
    folder: "edge-runtime",
    versionOf: "edge-runtime",
    app: "api/webhook.mjs",
    remark: "bundled with the condition `edge-light`",
    build: bundling("entry.mjs", "build/webhook.js", "edge-light", "iife"),
    args: () => ["host.mjs"],
  }),
];
