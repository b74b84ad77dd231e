import { BUN } from "../bun/program.js";
import { serverRow } from "../server-row.js";

const ELYSIA = { folder: "elysia", needs: ["bun"], versionOf: "elysia", path: "/webhooks/gateway" };

/** Elysia on both of its runtimes. */
export const rows = [
  serverRow({ name: "Elysia on Bun", program: BUN, app: "bun.mjs", ...ELYSIA }),
  serverRow({ name: "Elysia on Node", program: process.execPath, app: "node.mjs", ...ELYSIA }),
];
