import { serverRow } from "../server-row.js";

const rowOf = (major: number, versionOf: string) =>
  serverRow({
    name: `Koa ${major}`,
    folder: "koa",
    versionOf,
    app: `app-${major}.mjs`,
    path: "/webhooks/gateway",
  });

/** Koa 2 and 3 on Node. */
export const rows = [rowOf(2, "koa2"), rowOf(3, "koa")];
