import { pathIn } from "../install.js";

/** The binary of a Node, by its major version. */
export function nodeProgram(major: number): string {
  return pathIn("node", `node_modules/node${major}/bin/node`);
}
