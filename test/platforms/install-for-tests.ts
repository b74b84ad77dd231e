// Run by `npm run test:all` and `npm run check`: installs what only a part of the tests or the site imports or starts.
// With arguments only these folders, relative to test/platforms/.
import { ENGINES } from "../engines.js";
import { installPackages } from "./install.js";

const FOLDERS = [
  "../../docs/site",
  "../site",
  "../adapters/hono-node-servers",
  "../kit/peers",
  "../stores/sql/orms",
  "lambda",
  "loaders",
  "workerd",
  ...Object.values(ENGINES).flatMap(({ folder }) => folder ?? []),
  "fastify",
  "koa",
  "nest-10",
  "nest-11",
  "nest-12",
  "bun",
  "deno",
  "typescript-7",
  "typescript-oldest",
  "node",
];

/** More at a time do not fit into the processors. */
const AT_A_TIME = 3;

const named = process.argv.slice(2);
const waiting = named.length > 0 ? named : [...FOLDERS];
await Promise.all(
  Array.from({ length: AT_A_TIME }, async () => {
    for (let folder = waiting.shift(); folder !== undefined; folder = waiting.shift()) {
      await installPackages(folder);
    }
  }),
);
