import { serverRow } from "../server-row.js";

/** Express 4 on Node. */
export const rows = [
  serverRow({
    name: "Express 4",
    folder: "express-4",
    versionOf: "express",
    path: "/webhooks/gateway",
  }),
];
