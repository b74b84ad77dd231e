import { serverRow } from "../server-row.js";
import { BUN } from "./program.js";

/** Bun's own server. */
export const rows = [
  serverRow({
    name: "Bun",
    folder: "bun",
    versionOf: "@oven/bun-linux-x64",
    program: BUN,
  }),
];
