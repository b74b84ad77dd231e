import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RunResult } from "../run-report.js";
import { REPOSITORY } from "../support/package/installed-package.js";

const FILES = {
  "tests.ts": `
    import { beforeAll, describe, expect, test } from "vitest";
    test("passes", () => undefined);
    test.skip("is skipped", () => undefined);
    test("fails", () => { throw new Error("the test's own words"); });
    describe("a suite", () => {
      beforeAll(() => { throw new Error("the hook's own words"); });
      test("is never run", () => undefined);
    });`,
  "does-not-load.ts": `throw new Error("the file's own words");`,
  "rejects.ts": `
    import { test } from "vitest";
    test("ends before its promise", () => { void Promise.reject(new Error("the promise's own words")); });`,
  "config.ts": `
    import { RunReport } from ${JSON.stringify(path.join(REPOSITORY, "test/run-report.js"))};
    export default { test: { include: ["*s.ts", "*load.ts"], reporters: [new RunReport("result.json")] } };`,
};

let folder: string;
let result: RunResult;
beforeAll(async () => {
  // In the repository, so that it finds Vitest.
  const reports = path.join(REPOSITORY, "reports");
  mkdirSync(reports, { recursive: true });
  folder = mkdtempSync(path.join(reports, "run-report-"));
  for (const [name, text] of Object.entries(FILES)) writeFileSync(path.join(folder, name), text);
  const vitest = path.join(
    path.dirname(createRequire(import.meta.url).resolve("vitest/package.json")),
    "vitest.mjs",
  );
  await new Promise((done) => {
    execFile(process.execPath, [vitest, "run", "--config", "config.ts"], { cwd: folder }, done);
  });
  const text = readFileSync(path.join(folder, "result.json"), "utf8");
  result = JSON.parse(text) as RunResult;
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

test("the passed tests are counted, and the skipped ones are not", () => {
  expect(result.passed).toBe(2);
});

test.each([
  ["a test", "tests.ts: fails", "the test's own words"],
  ["a hook, whose tests are not run", "tests.ts: a suite", "the hook's own words"],
  ["a file that does not load", "does-not-load.ts", "the file's own words"],
  ["a rejection that no test waits for", "outside of the tests", "the promise's own words"],
])("a failure of %s is one failure, with its place and its error", (_, place, words) => {
  expect(result.failures).toHaveLength(4);
  const found = result.failures.filter((failure) => failure.split("\n")[0] === place);
  expect(found).toHaveLength(1);
  expect(found[0]).toContain(words);
});
