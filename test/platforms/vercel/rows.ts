import { serverRow } from "../server-row.js";

/** A function with Vercel's documented signature. */
export const rows = [
  serverRow({
    name: "Vercel function",
    folder: "vercel",
    versionOf: "@edge-runtime/node-utils",
    app: "api/webhook.mjs",
    remark:
      "in a small host with the conversion that `vercel dev` uses (`@edge-runtime/node-utils`)",
    args: () => ["host.mjs"],
  }),
];
