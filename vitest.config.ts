import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { MixedOrder } from "./test/mixed-order.js";

const path = (file: string) => fileURLToPath(new URL(file, import.meta.url));

/** A state that is waited for comes later on a machine that is busy, and is not missing for that. */
const patient = { poll: { timeout: 20_000 } };
/** Milliseconds. The longest tests take 11 s alone, and six times that beside other work on a slow machine. */
const testTimeout = 180_000;

/** Empty is unset: a receiver without a store warns on these platforms, also where they run the tests. */
const env = { AWS_LAMBDA_FUNCTION_NAME: "", K_SERVICE: "", KUBERNETES_SERVICE_HOST: "" };

/** The rooms of `src/` that use no service. Their tests run on both crypto backends. */
const UNIT_ROOMS =
  "{receiver,delivery,signature,records,handling,answer,options,common,telemetry,stores/memory}";

/**
 * The folders whose test files share processes. A process for each file would load the modules again for each: a
 * third of the processor time. Not the unit tests and the adapters: they count the fake timers that are left, and those of another
 * file in the same process would be among them.
 */
const SHARING = new Set(["inbox", "testing", "cli"]);

/** Unit tests that do not run on the chosen crypto backend: they name one, or need none. They run once. */
const ON_NO_BACKEND = [
  "test/signature/crypto/**",
  "test/records/plain-*.test.ts",
  "test/stores/memory/compact-*.test.ts",
];

const unitProject = (backend: "node" | "web") => ({
  resolve: { alias: { "#crypto": path(`./src/signature/crypto/${backend}.ts`) } },
  test: {
    name: backend,
    include: [`test/${UNIT_ROOMS}/**/*.test.ts`],
    exclude: backend === "web" ? ON_NO_BACKEND : [],
    testTimeout,
    expect: patient,
    env,
  },
});

/** Tests over real servers, files and processes, in the folder of that name. */
const nodeProject = (name: string) => ({
  resolve: { alias: { "#crypto": path("./src/signature/crypto/node.ts") } },
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    isolate: !SHARING.has(name),
    exclude: ["test/stores/memory/**", "test/adapters/nestjs/**"],
    testTimeout,
    hookTimeout: 120_000,
    expect: patient,
    env,
  },
});

/** The tests of `/nestjs`, with the Nest of one major version. `nest-packages.test.ts` reports a missing one. */
const nestProjects = ["nest-10", "nest-11", "nest-12"]
  .map((name) => [name, path(`./test/platforms/${name}/node_modules/@nestjs/`)] as const)
  .filter(([, packages]) => existsSync(packages))
  .map(([name, packages]) => ({
    resolve: {
      alias: [
        { find: "#crypto", replacement: path("./src/signature/crypto/node.ts") },
        { find: /^@nestjs\//, replacement: packages },
      ],
    },
    test: {
      name,
      include: ["test/adapters/nestjs/**/*.test.ts"],
      testTimeout,
      hookTimeout: 120_000,
      expect: patient,
      env,
    },
  }));

/** `npm test` without arguments. A part of the tests covers a part of the code. */
const isWhole = process.env["npm_lifecycle_event"] === "test" && process.argv.length === 3;

export default defineConfig({
  test: {
    // Many tests wait for servers, leases and time-outs, and not for a processor.
    maxWorkers: 2 * availableParallelism(),
    sequence: { sequencer: MixedOrder },
    projects: [
      unitProject("node"),
      unitProject("web"),
      nodeProject("adapters"),
      ...nestProjects,
      nodeProject("stores"),
      nodeProject("inbox"),
      nodeProject("management"),
      nodeProject("testing"),
      nodeProject("flawed"),
      nodeProject("cli"),
      nodeProject("package"),
      nodeProject("site"),
      nodeProject("faults"),
      nodeProject("alerts"),
    ],
    reporters: process.env["CI"]
      ? ["default", ["json", { outputFile: "reports/tests.json" }]]
      : ["default"],
    coverage: {
      enabled: isWhole,
      provider: "v8",
      include: ["src/**/*.ts", "adapters/**/*.ts"],
      reporter: ["text-summary", "html", "json-summary"],
      reportsDirectory: "coverage",
      thresholds: { branches: 97, functions: 97, lines: 97, statements: 97 },
    },
  },
});
