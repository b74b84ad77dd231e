// Run by `npm run test:all`: installs the folders of test/platforms/ whose packages tests import or start.
import { installPackages } from "./install.js";

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
  "node",
];

/** More at a time do not fit into the processors. */
const AT_A_TIME = 3;

const waiting = [...FOLDERS];
await Promise.all(
  Array.from({ length: AT_A_TIME }, async () => {
    for (let folder = waiting.shift(); folder !== undefined; folder = waiting.shift()) {
      await installPackages(folder);
    }
  }),
);
