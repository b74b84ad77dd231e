// Run by `npm test`: installs the folders of test/platforms/ whose packages tests import or start.
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
];

for (const folder of FOLDERS) await installPackages(folder);
