import { bundling } from "../bundling.js";
import { installedVersion, pathIn } from "../install.js";
import type { Platform } from "../platform.js";
import { startServer } from "../start-server.js";

/** The runtime of Cloudflare Workers. */
export const rows: readonly Platform[] = [
  {
    name: "Cloudflare Workers (workerd)",
    folder: "workerd",
    version: () => installedVersion("workerd", "@cloudflare/workerd-linux-64"),
    app: "app.mjs",
    start: (ledgerUrl) =>
      startServer(
        {
          folder: "workerd",
          program: pathIn("workerd", "node_modules/@cloudflare/workerd-linux-64/bin/workerd"),
          build: bundling("app.mjs", "build/app.mjs", "workerd,worker"),
          args: (port) => ["serve", "app.capnp", `--socket-addr=http=127.0.0.1:${port}`],
        },
        ledgerUrl,
      ),
  },
];
