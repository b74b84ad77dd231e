import { readFileSync } from "node:fs";
import type { KnipConfig } from "knip";
import { ENTRIES } from "./release/entries.js";

const { devDependencies } = JSON.parse(readFileSync("package.json", "utf8")) as {
  readonly devDependencies: object;
};

const config: KnipConfig = {
  entry: [
    ...ENTRIES.map(({ file }) => file),
    "test/**/*.test.ts",
    "test/faults/receivers/receiver.ts",
    "test/faults/receivers/setups/*.ts",
    "test/support/adapters/adapter-contract.ts",
    "docs/*.ts",
    "cli/page/browser/main.ts",
    "docs/site/config.ts",
    "examples/*.ts",
    "examples/demo/{lambda,workers}.ts",
    "fixtures/generate.mjs",
    "release/check-entries.ts",
    "test/model/print-model.ts",
    "test/mutation/vitest.config.ts",
    "test/site/screenshots.ts",
    "src/signature/crypto/*.ts",
    "test/{receiver,stores,support}/**/*-{child,process,handler}.ts",
  ],
  project: [
    "src/**/*.ts",
    "adapters/**/*.ts",
    "kit/**/*.ts",
    "cli/**/*.ts",
    "test/**/*.ts",
    "examples/**/*.ts",
    "docs/**/*.ts",
    "release/**/*.ts",
  ],
  ignoreExportsUsedInFile: {
    interface: true,
    type: true,
  },
  ignoreDependencies: [
    // Tests take what a store or queue needs from a folder of test/platforms/, if not from here.
    ...ENTRIES.flatMap(({ peers = [] }) => peers)
      .flatMap(({ names }) => names)
      .filter((name) => !(name in devDependencies)),
    "@arethetypeswrong/cli",
    "@nestjs/platform-fastify",
    "@nestjs/testing",
    "@octokit/webhooks",
    "@vercel/ncc",
    "aws-lambda",
    "fastify4",
    "hono-node-server-.*",
    "koa2",
    "oxlint",
    "oxlint-tsgolint",
    "playwright-core",
    "publint",
    "standardwebhooks",
    "typedoc",
    "typedoc-plugin-markdown",
    "vitepress",
  ],
  ignoreBinaries: ["openssl", "redis-server", "gcc", "spin", "promtool", "unshare"],
};

export default config;
