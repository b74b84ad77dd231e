import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The longest run of each file so far. The last one may have run only one of its tests, or none. */
const longest = new Map<string, number>();

/** Stryker stops at the first failure: per project, files that failed last run first, then the short ones. */
class FailedThenShort extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { cache, config } = this.ctx;
    const costOf = ({ project, moduleId }: TestSpecification): number => {
      const name = `${project.name}:${relative(config.root, moduleId)}`;
      const { failed = false, duration = 0 } = cache.getFileTestResults(name) ?? {};
      longest.set(name, Math.max(duration, longest.get(name) ?? 0));
      return failed ? -1 : (longest.get(name) ?? 0);
    };
    const order = files
      .map((file) => ({ file, name: file.project.name, cost: costOf(file) }))
      .sort((a, b) => a.name.localeCompare(b.name) || a.cost - b.cost);
    return Promise.resolve(order.map(({ file }) => file));
  }
}

/** It replaces a module, for which it needs a process of its own. */
const ALONE = "test/delivery/header-more.test.ts";

const project = (backend: "node" | "web", include: string[]) => ({
  resolve: {
    alias: {
      "#crypto": fileURLToPath(
        new URL(`../../src/signature/crypto/${backend}.ts`, import.meta.url),
      ),
    },
  },
  test: {
    name: backend,
    include,
    setupFiles: "test/after-tests.ts",
    // One worker for a mutant: a worker for each test file takes longer than the tests.
    isolate: false,
    maxWorkers: 1,
    // A test that hangs fails here. Left to Stryker, it would end the process that runs the tests. Many mutants
    // hang, so a longer time makes a run slower. Each test takes less than a quarter of this, on a busy machine too.
    testTimeout: 20_000,
    expect: { poll: { timeout: 5_000 } },
    exclude: ["**/*.slow.test.ts", ALONE],
    provide: { servers: "newest" as const },
  },
});

/** Test files, from `run.ts`. */
const tests = (process.env["MUTATION_TESTS"] ?? "signature/**/*").split(",");

const node = project(
  "node",
  tests.map((name) => `test/${name}.test.ts`),
);
const { resolve, test } = node;
const alone = {
  resolve,
  test: { ...test, name: "node-alone", include: [ALONE], exclude: [], isolate: true },
};
// On the other backend those that show how a promise is awaited.
const web = project("web", ["test/signature/*.test.ts", "test/receiver/*.test.ts"]);

export default defineConfig({
  test: {
    sequence: { sequencer: FailedThenShort },
    projects: [
      node,
      ...(tests.includes("delivery/**/*") ? [alone] : []),
      ...(tests.includes("signature/**/*") ? [web] : []),
    ],
  },
});
