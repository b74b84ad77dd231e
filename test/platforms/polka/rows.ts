import { serverRow } from "../server-row.js";

/** Polka on Node. */
export const rows = [
  serverRow({ name: "Polka", folder: "polka", versionOf: "polka", path: "/webhooks/gateway" }),
];
