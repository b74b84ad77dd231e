import { pathIn } from "../install.js";
import { serverRow } from "../server-row.js";

const RUNTIME = "@netlify/serverless-functions-api";

/** A function in Netlify's own runtime. */
export const rows = [
  serverRow({
    name: "Netlify function",
    folder: "netlify",
    versionOf: RUNTIME,
    app: "netlify/functions/webhook.mjs",
    remark: "in the server of Netlify's runtime; their network stands in front of it",
    args: () => [`node_modules/${RUNTIME}/dist/index_server.js`],
    env: (port) => ({
      NETLIFY_PLAY_ENTRY_PATH: pathIn("netlify", "netlify/functions/webhook.mjs"),
      NETLIFY_PLAY_PORT: String(port),
    }),
    path: "/webhooks/gateway",
  }),
];
