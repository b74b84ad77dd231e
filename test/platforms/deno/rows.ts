import { installedVersion, pathIn } from "../install.js";
import type { Platform } from "../platform.js";
import { startServer } from "../start-server.js";

/** Deno's own server. */
export const rows: readonly Platform[] = [
  {
    name: "Deno",
    folder: "deno",
    version: () => installedVersion("deno", "@deno/linux-x64-glibc"),
    app: "app.mjs",
    start: (ledgerUrl) =>
      startServer(
        {
          folder: "deno",
          program: pathIn("deno", "node_modules/@deno/linux-x64-glibc/deno"),
          args: () => ["run", "--allow-all", "--node-modules-dir=manual", "app.mjs"],
        },
        ledgerUrl,
      ),
  },
];
