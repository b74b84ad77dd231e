import { pathIn } from "../install.js";
import { serverRow } from "../server-row.js";

/** Deno's own server. */
export const rows = [
  serverRow({
    name: "Deno",
    folder: "deno",
    versionOf: "@deno/linux-x64-glibc",
    program: pathIn("deno", "node_modules/@deno/linux-x64-glibc/deno"),
    args: () => ["run", "--allow-all", "--node-modules-dir=manual", "app.mjs"],
  }),
];
