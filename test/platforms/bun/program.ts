import { pathIn } from "../install.js";

/** Bun's binary. */
export const BUN = pathIn("bun", "node_modules/@oven/bun-linux-x64/bin/bun");
