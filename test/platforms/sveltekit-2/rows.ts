import { pathIn } from "../install.js";
import { serverRow } from "../server-row.js";

/** A build of SvelteKit by adapter-node. */
export const rows = [
  serverRow({
    name: "SvelteKit 2",
    folder: "sveltekit-2",
    remark: "built by adapter-node, with `BODY_SIZE_LIMIT=1M` and `csrf.checkOrigin: false`",
    versionOf: "@sveltejs/kit",
    app: "src/routes/webhooks/gateway/+server.js",
    build: [process.execPath, pathIn("sveltekit-2", "node_modules/vite/bin/vite.js"), "build"],
    args: () => ["build/index.js"],
    path: "/webhooks/gateway",
    env: () => ({ BODY_SIZE_LIMIT: "1M" }),
  }),
];
