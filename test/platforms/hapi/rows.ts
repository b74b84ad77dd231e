import { serverRow } from "../server-row.js";

/** Hapi on Node. */
export const rows = [
  serverRow({
    name: "Hapi 21",
    folder: "hapi",
    versionOf: "@hapi/hapi",
    path: "/webhooks/gateway",
  }),
];
