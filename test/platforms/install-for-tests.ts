// Run by `npm test`: installs the folders of test/platforms/ whose packages tests import or start, and
// links what the examples import.
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { installPackages, pathIn } from "./install.js";

const FOLDERS = [
  "lambda",
  "workerd",
  "cloudflare",
  "dynamodb",
  "upstash",
  "fastify",
  "koa",
  "nest-10",
  "nest-11",
  "nest-12",
  "bun",
  "deno",
  "typescript-oldest",
];

/** The packages of the examples that are not in the root's node_modules, by folder. */
const LINKS = [
  ["fastify", "fastify"],
  ["koa", "koa"],
  ["koa", "@types/koa"],
] as const;

const EXAMPLES = fileURLToPath(new URL("../../examples/", import.meta.url));

for (const folder of FOLDERS) await installPackages(folder);

for (const [folder, name] of LINKS) {
  const link = path.join(EXAMPLES, "node_modules", name);
  rmSync(link, { recursive: true, force: true });
  mkdirSync(path.dirname(link), { recursive: true });
  // By path from the link, so that the repository can be moved.
  const target = pathIn(folder, `node_modules/${name}`);
  symlinkSync(path.relative(path.dirname(link), target), link, "dir");
}
