import { serverRow } from "../server-row.js";
import { nodeProgram } from "./program.js";

/** `node:http` on each Node that the package claims. */
export const rows = [20, 22, 24, 26].map((major) =>
  serverRow({
    name: `Node ${major}`,
    ...(major === 24 ? { remark: "Cloud Run, too: it runs a container with this server" } : {}),
    folder: "node",
    versionOf: `node${major}`,
    program: nodeProgram(major),
  }),
);
