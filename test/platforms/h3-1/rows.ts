import { serverRow } from "../server-row.js";

/** h3 1 on Node. */
export const rows = [
  serverRow({ name: "h3 1", folder: "h3-1", versionOf: "h3", path: "/webhooks/gateway" }),
];
