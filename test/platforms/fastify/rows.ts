import { serverRow } from "../server-row.js";

const rowOf = (major: number, versionOf: string) =>
  serverRow({
    name: `Fastify ${major}`,
    folder: "fastify",
    versionOf,
    app: `app-${major}.mjs`,
    path: "/webhooks/gateway",
  });

/** Fastify 4 and 5 on Node. */
export const rows = [rowOf(4, "fastify4"), rowOf(5, "fastify")];
