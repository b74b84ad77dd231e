import { installedVersion } from "../install.js";
import type { Platform } from "../platform.js";
import { startServer } from "../start-server.js";

/** A function of the programming model 4. */
export const rows: readonly Platform[] = [
  {
    name: "Azure Functions",
    folder: "azure-functions",
    version: () => installedVersion("azure-functions", "@azure/functions"),
    app: "app.mjs",
    remark: "`@azure/functions` itself, in a small host that calls it as its worker does",
    start: (ledgerUrl) =>
      startServer({ folder: "azure-functions", args: () => ["host.mjs"] }, ledgerUrl),
  },
];
