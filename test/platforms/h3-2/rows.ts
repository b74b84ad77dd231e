import { serverRow } from "../server-row.js";

/** h3 2 on Node. */
export const rows = [
  serverRow({ name: "h3 2", folder: "h3-2", versionOf: "h3", path: "/webhooks/gateway" }),
];
