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

const results = new Map<string, readonly CaseResult[]>();
beforeAll(async () => {
  const present = OTHER_RUNTIMES.filter((runtime) => missingRuntime(runtime) === undefined);
  // At the same time: the cases wait for leases to end.
  await Promise.all(
    present.map(async (runtime) => results.set(runtime.name, await runCasesOn(runtime))),
  );
}, SLOW_DISK_MS);

for (const runtime of OTHER_RUNTIMES) {
  describeService(runtime.name, missingRuntime(runtime), () => {
    it(`${runtime.name} runs every case of better-sqlite3`, () => {
      expect(results.get(runtime.name)?.map(({ title }) => title)).toEqual(titles);
    });

    it.each(titles)(`${runtime.name}: %s`, (title) => {
      const found = results.get(runtime.name)?.filter((result) => result.title === title) ?? [];
      expect(found.length).toBeGreaterThan(0);
      for (const { error } of found) expect(error).toBeUndefined();
    });
  });
}
