import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { MixedOrder } from "./test/mixed-order.js";
import { NotRun } from "./test/not-run.js";
import { rowsOfRun } from "./test/support/extent.js";
import { RunReport } from "./test/run-report.js";

const path = (file: string) => fileURLToPath(new URL(file, import.meta.url));

const SLOW = "test/**/*.slow.test.ts";
/** Some packages ship their tests. */
const PACKAGES = "**/node_modules/**";
/** The tests of `/nestjs`, which run with each major version of Nest. */
const NEST = "test/adapters/nestjs/**";
/** What runs on each server that an adapter supports: on the newest in `npm test`. */
const ON_EACH_SERVER = [
  "test/adapters/{adapter-contract,disconnected,draining-connections,raw-connections,raw-tcp}.test.ts",
  "test/adapters/{upload-timeout,whole-body}.test.ts",
  "test/package/fixtures.test.ts",
  "test/kit/conformance-adapters.slow.test.ts",
];
/** They register OpenTelemetry's API and its context, of which a process has one, or replace a module. */
const ALONE = [
  "test/inbox/open-telemetry.test.ts",
  "test/delivery/header-more.test.ts",
  "test/telemetry/{metrics,open-telemetry-options,spans}.test.ts",
];
/** They count or fake the timers of their process for seconds, where an engine's client of another file may start one. */
const SLOW_ALONE = [
  "test/receiver/fuzz.slow.test.ts",
  "test/stores/sql/{connections,network}.slow.test.ts",
];
/** What depends on the crypto backend, for Web Crypto: the other rooms get a promise or a value of it, whichever it is. */
const ON_EACH_BACKEND = ["test/signature/*.test.ts", "test/receiver/*.test.ts"];

const backend = (name: "node" | "web") => ({
  find: "#crypto",
  replacement: path(`./src/signature/crypto/${name}.ts`),
});

const settings = {
  setupFiles: "test/after-tests.ts",
  /** Milliseconds. The longest tests take two minutes beside others, and several times that on a slow machine. */
  testTimeout: 900_000,
  hookTimeout: 900_000,
  /** A state that is waited for comes later on a machine that is busy, and is not missing for that. */
  expect: { poll: { timeout: 60_000 } },
  /** Empty is unset: a receiver without a store warns on these platforms, also where they run the tests. */
  env: { AWS_LAMBDA_FUNCTION_NAME: "", K_SERVICE: "", KUBERNETES_SERVICE_HOST: "" },
  provide: { servers: "newest" as "newest" | "others" },
};

/** What `npm test` runs: Node and nothing else. All files share a process, so that each module loads once. */
const quick = [
  {
    resolve: { alias: [backend("node")] },
    test: {
      ...settings,
      name: "quick",
      include: ["test/**/*.test.ts"],
      exclude: [SLOW, NEST, PACKAGES, ...ALONE],
      isolate: false,
    },
  },
  {
    resolve: { alias: [backend("node")] },
    test: { ...settings, name: "quick-alone", include: ALONE },
  },
];

// The page's project is built and tried with each of them in every run: test/package/nestjs.slow.test.ts.
const nestFolders = rowsOfRun(["nest-10", "nest-11", "nest-12"], (name) => name === "nest-11")
  .map((name) => [name, path(`./test/platforms/${name}/node_modules/@nestjs/`)] as const)
  // `nest-packages.slow.test.ts` reports a missing one.
  .filter(([, packages]) => existsSync(packages));

/** What `npm run test:all` runs besides: real engines, other runtimes, the packed package. */
const slow = [
  {
    resolve: { alias: [backend("node")] },
    test: {
      ...settings,
      name: "slow",
      include: [SLOW],
      exclude: [NEST, PACKAGES, ...SLOW_ALONE],
      isolate: false,
    },
  },
  {
    resolve: { alias: [backend("node")] },
    test: { ...settings, name: "slow-alone", include: SLOW_ALONE },
  },
  {
    resolve: { alias: [backend("web")] },
    test: {
      ...settings,
      name: "slow-web",
      include: ON_EACH_BACKEND,
      // It computes no signature.
      exclude: ["test/signature/generated-secrets.slow.test.ts"],
      isolate: false,
    },
  },
  {
    resolve: { alias: [backend("node")] },
    test: {
      ...settings,
      name: "slow-other-servers",
      include: ON_EACH_SERVER,
      provide: { servers: "others" as const },
      isolate: false,
    },
  },
  ...nestFolders.map(([name, packages]) => ({
    resolve: { alias: [backend("node"), { find: /^@nestjs\//, replacement: packages }] },
    test: { ...settings, name: `slow-${name}`, include: [`${NEST}/*.slow.test.ts`] },
  })),
];

const command = process.env["npm_lifecycle_event"] ?? "test";
/** `.ci/run` counts the tests of each command from its report. */
const report = `reports/${command.replace(":", "-")}.json`;
/** Many tests wait for servers, leases and time-outs, and not for a processor: those of the slow files most. */
const workersPerProcessor = command === "test:all" ? 3 : 2;

export default defineConfig({
  test: {
    maxWorkers: workersPerProcessor * availableParallelism(),
    globalSetup: "./test/run-folder.ts",
    sequence: { sequencer: MixedOrder },
    projects: [...quick, ...slow],
    coverage: {
      provider: "v8",
      include: ["{src,adapters,kit,cli}/**/*.ts"],
      // It runs in a browser.
      exclude: ["cli/page/browser/**"],
      reporter: ["text-summary", "html", "json-summary"],
      reportsDirectory: "coverage",
      // Of the quick and the slow tests together: `npx vitest run --coverage`.
      thresholds: { branches: 97, functions: 97, lines: 97, statements: 97 },
    },
    reporters: [
      "default",
      new NotRun(),
      ...(process.env["CI"] === undefined ? [] : [new RunReport(report)]),
    ],
  },
});
