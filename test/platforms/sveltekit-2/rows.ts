import { installedVersion, pathIn } from "../install.js";
import type { Platform } from "../platform.js";
import { startServer } from "../start-server.js";

/** A build of SvelteKit by adapter-node. */
export const rows: readonly Platform[] = [
  {
    name: "SvelteKit 2",
    folder: "sveltekit-2",
    remark: "built by adapter-node, with `BODY_SIZE_LIMIT=1M` and `csrf.checkOrigin: false`",
    version: () => installedVersion("sveltekit-2", "@sveltejs/kit"),
    app: "src/routes/webhooks/gateway/+server.js",
    start: (ledgerUrl) =>
      startServer(
        {
          folder: "sveltekit-2",
          build: [
            process.execPath,
            pathIn("sveltekit-2", "node_modules/vite/bin/vite.js"),
            "build",
          ],
          args: () => ["build/index.js"],
          path: "/webhooks/gateway",
          env: () => ({ BODY_SIZE_LIMIT: "1M" }),
        },
        ledgerUrl,
      ),
  },
];
