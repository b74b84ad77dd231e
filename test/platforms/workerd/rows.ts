import { bundling } from "../bundling.js";
import { pathIn } from "../install.js";
import { serverRow } from "../server-row.js";

/** The runtime of Cloudflare Workers. */
export const rows = [
  serverRow({
    name: "Cloudflare Workers (workerd)",
    folder: "workerd",
    versionOf: "@cloudflare/workerd-linux-64",
    program: pathIn("workerd", "node_modules/@cloudflare/workerd-linux-64/bin/workerd"),
    build: bundling("app.mjs", "build/app.mjs", "workerd,worker"),
    args: (port) => ["serve", "app.capnp", `--socket-addr=http=127.0.0.1:${port}`],
  }),
];
