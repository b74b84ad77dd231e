import { installedVersion } from "../install.js";
import type { Platform } from "../platform.js";
import { startServer } from "../start-server.js";
import { nodeProgram } from "./program.js";

const row = (major: number): Platform => ({
  name: `Node ${major}`,
  ...(major === 24 ? { remark: "Cloud Run, too: it runs a container with this server" } : {}),
  folder: "node",
  version: () => installedVersion("node", `node${major}`),
  app: "app.mjs",
  start: (ledgerUrl) =>
    startServer(
      {
        folder: "node",
        program: nodeProgram(major),
        args: () => ["app.mjs"],
      },
      ledgerUrl,
    ),
});

/** `node:http` on each Node that the package claims. */
export const rows: readonly Platform[] = [20, 22, 24, 26].map(row);
