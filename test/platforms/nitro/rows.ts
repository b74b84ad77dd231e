import { serverRow } from "../server-row.js";

/** Nitro with the preset of a Node server. */
export const rows = [
  serverRow({
    name: "Nitro 2",
    folder: "nitro",
    versionOf: "nitropack",
    app: "routes/webhooks/gateway.mjs",
    build: [process.execPath, "node_modules/nitropack/dist/cli/index.mjs", "build"],
    args: () => [".output/server/index.mjs"],
    path: "/webhooks/gateway",
  }),
];
