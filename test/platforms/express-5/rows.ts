import { serverRow } from "../server-row.js";

/** Express 5 on Node. */
export const rows = [
  serverRow({
    name: "Express 5",
    folder: "express-5",
    versionOf: "express",
    path: "/webhooks/gateway",
  }),
];
