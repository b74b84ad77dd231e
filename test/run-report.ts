import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Reporter, SerializedError, TestModule } from "vitest/node";

/** What `.ci/run` reads of a run. */
export interface RunResult {
  readonly passed: number;
  /** Each with its place and its errors. */
  readonly failures: readonly string[];
}

/**
 * Writes a `RunResult` as JSON to a file. A hook that fails counts as a failure, and so does an error outside of the
 * tests: Vitest's own JSON has neither, and the tests of such a hook are only skipped there.
 */
export class RunReport implements Reporter {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    let passed = 0;
    const failures = unhandled.map((error) => describe("outside of the tests", [error]));
    for (const module of modules) {
      const file = module.relativeModuleId;
      if (module.errors().length > 0) failures.push(describe(file, module.errors()));
      for (const suite of module.children.allSuites()) {
        if (suite.errors().length === 0) continue;
        failures.push(describe(`${file}: ${suite.fullName}`, suite.errors()));
      }
      for (const test of module.children.allTests()) {
        const { state, errors = [] } = test.result();
        if (state === "passed") passed += 1;
        if (state === "failed") failures.push(describe(`${file}: ${test.fullName}`, errors));
      }
    }
    mkdirSync(path.dirname(this.#file), { recursive: true });
    writeFileSync(this.#file, JSON.stringify({ passed, failures } satisfies RunResult));
  }
}

function describe(place: string, errors: readonly SerializedError[]): string {
  return [place, ...errors.map(({ message, stack }) => stack ?? message)].join("\n");
}
