import { serverRow } from "../server-row.js";

/** A build of React Router, on its own server. */
export const rows = [
  serverRow({
    name: "React Router 7",
    folder: "react-router-7",
    versionOf: "react-router",
    app: "app/routes/webhook.js",
    build: [process.execPath, "node_modules/@react-router/dev/bin.js", "build"],
    args: () => ["node_modules/@react-router/serve/bin.js", "build/server/index.js"],
    path: "/webhooks/gateway",
  }),
];
