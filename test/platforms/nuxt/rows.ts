import { nodeProgram } from "../node/program.js";
import { serverRow } from "../server-row.js";

/** A build of Nuxt, on Node. */
export const rows = [
  serverRow({
    name: "Nuxt 4",
    folder: "nuxt",
    needs: ["node"],
    versionOf: "nuxt",
    app: "server/routes/webhooks/gateway.mjs",
    program: nodeProgram(22),
    build: [nodeProgram(22), "node_modules/nuxt/bin/nuxt.mjs", "build"],
    args: () => [".output/server/index.mjs"],
    path: "/webhooks/gateway",
  }),
];
