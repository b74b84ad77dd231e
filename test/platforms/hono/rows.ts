import { serverRow } from "../server-row.js";

/** Hono on @hono/node-server. */
export const rows = [
  serverRow({ name: "Hono on Node", folder: "hono", versionOf: "hono", path: "/webhooks/gateway" }),
];
