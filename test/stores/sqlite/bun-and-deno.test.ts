import { beforeAll, expect, it } from "vitest";
import { describeService } from "../../support/describe-service.js";
import { allCases } from "../../support/sqlite/all-cases.js";
import { betterSqlite3 } from "../../support/sqlite/drivers.js";
import {
  OTHER_RUNTIMES,
  missingRuntime,
  runCasesOn,
  type CaseResult,
} from "../../support/sqlite/other-runtimes.js";

/** 10 000 keys are 25 000 writes, and each waits for the disk. */
const SLOW_DISK_MS = 300_000;
const titles = allCases(betterSqlite3).map(({ title }) => title);

for (const runtime of OTHER_RUNTIMES) {
  describeService(runtime.name, missingRuntime(runtime), () => {
    let results: readonly CaseResult[];

    beforeAll(async () => {
      results = await runCasesOn(runtime);
    }, SLOW_DISK_MS);

    it(`${runtime.name} runs every case of better-sqlite3`, () => {
      expect(results.map(({ title }) => title)).toEqual(titles);
    });

    it.each(titles)(`${runtime.name}: %s`, (title) => {
      const found = results.filter((result) => result.title === title);
      expect(found.length).toBeGreaterThan(0);
      for (const { error } of found) expect(error).toBeUndefined();
    });
  });
}
