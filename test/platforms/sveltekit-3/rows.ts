import { installedVersion, pathIn } from "../install.js";
import { nodeProgram } from "../node/program.js";
import type { Platform } from "../platform.js";
import { startServer } from "../start-server.js";

/** A build of SvelteKit by adapter-node. */
export const rows: readonly Platform[] = [
  {
    name: "SvelteKit 3",
    folder: "sveltekit-3",
    needs: ["node"],
    remark: "built by adapter-node, with `BODY_SIZE_LIMIT=1M`",
    ownAnswers: {
      content_types: "403 to a request without a Content-Type, by its CSRF check",
      form_content_types: "403 to forms of another origin, by its CSRF check",
    },
    version: () => installedVersion("sveltekit-3", "@sveltejs/kit"),
    app: "src/routes/webhooks/gateway/+server.js",
    start: (ledgerUrl) =>
      startServer(
        {
          folder: "sveltekit-3",
          program: nodeProgram(22),
          build: [nodeProgram(22), pathIn("sveltekit-3", "node_modules/vite/bin/vite.js"), "build"],
          args: () => ["build/index.js"],
          path: "/webhooks/gateway",
          env: () => ({ BODY_SIZE_LIMIT: "1M" }),
        },
        ledgerUrl,
      ),
  },
];
