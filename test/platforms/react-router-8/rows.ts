import { nodeProgram } from "../node/program.js";
import { serverRow } from "../server-row.js";

/** A build of React Router, on its own server. */
export const rows = [
  serverRow({
    name: "React Router 8",
    folder: "react-router-8",
    needs: ["node"],
    versionOf: "react-router",
    app: "app/routes/webhook.js",
    program: nodeProgram(22),
    build: [nodeProgram(22), "node_modules/@react-router/dev/bin.cjs", "build"],
    args: () => ["node_modules/@react-router/serve/bin.cjs", "build/server/index.js"],
    path: "/webhooks/gateway",
  }),
];
