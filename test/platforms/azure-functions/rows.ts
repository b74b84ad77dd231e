import { serverRow } from "../server-row.js";

/** A function of the programming model 4. */
export const rows = [
  serverRow({
    name: "Azure Functions",
    folder: "azure-functions",
    versionOf: "@azure/functions",
    remark: "`@azure/functions` itself, in a small host that calls it as its worker does",
    args: () => ["host.mjs"],
  }),
];
