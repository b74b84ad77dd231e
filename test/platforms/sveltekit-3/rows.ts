import { pathIn } from "../install.js";
import { nodeProgram } from "../node/program.js";
import { serverRow } from "../server-row.js";

/** A build of SvelteKit by adapter-node. */
export const rows = [
  serverRow({
    name: "SvelteKit 3",
    folder: "sveltekit-3",
    needs: ["node"],
    remark: "built by adapter-node, with `BODY_SIZE_LIMIT=1M`",
    ownAnswers: {
      content_types: "403 to a request without a Content-Type, by its CSRF check",
      form_content_types: "403 to forms of another origin, by its CSRF check",
    },
    versionOf: "@sveltejs/kit",
    app: "src/routes/webhooks/gateway/+server.js",
    program: nodeProgram(22),
    build: [nodeProgram(22), pathIn("sveltekit-3", "node_modules/vite/bin/vite.js"), "build"],
    args: () => ["build/index.js"],
    path: "/webhooks/gateway",
    env: () => ({ BODY_SIZE_LIMIT: "1M" }),
  }),
];
