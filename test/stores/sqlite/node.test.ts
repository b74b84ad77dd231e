import { describe, expect, it } from "vitest";
import { sqliteContractCases } from "../../support/sqlite/sqlite-contract-cases.js";
import { betterSqlite3 } from "../../support/sqlite/sqlite-drivers.js";
import { sqliteLentCases } from "../../support/sqlite/sqlite-lent-cases.js";
import { sqliteMishapCases } from "../../support/sqlite/sqlite-mishap-cases.js";
import { startSqliteProcess } from "../../support/sqlite/sqlite-process.js";
import { sqliteQueueCases } from "../../support/sqlite/sqlite-queue-cases.js";
import { sqliteRetentionCases } from "../../support/sqlite/sqlite-retention-cases.js";
import { SQLITE_RUNTIMES } from "../../support/sqlite/sqlite-runtimes.js";
import { sqliteStoreCases } from "../../support/sqlite/sqlite-store-cases.js";
import { sqliteTransactionCases } from "../../support/sqlite/sqlite-transaction-cases.js";
import { sqliteWaitingCases } from "../../support/sqlite/sqlite-waiting-cases.js";

/** 10 000 keys are 25 000 writes, and each waits for the disk. */
const SLOW_DISK_MS = 300_000;
/** The cases of sqlite.test.ts, of which the titles alone are used here. */
const titles = [
  sqliteStoreCases,
  sqliteTransactionCases,
  sqliteLentCases,
  sqliteMishapCases,
  sqliteQueueCases,
  sqliteWaitingCases,
  sqliteRetentionCases,
  sqliteContractCases,
].flatMap((cases) => cases(betterSqlite3).map(({ title }) => title));

describe("node:sqlite, in a Node that has it", () => {
  const runtime = SQLITE_RUNTIMES.find(({ driver }) => driver === "node:sqlite");
  if (runtime === undefined) {
    it("is not tested: no such Node was found", () => {
      expect(process.env["CI"]).not.toBe("true");
    });
    return;
  }

  // One process for all, which prints a line for each; the first test waits for it.
  const run = startSqliteProcess(runtime, "sqlite-cases-child.ts", []);
  const results = run.ended.then(
    () => run.lines.map((line) => JSON.parse(line) as { title: string; error?: string }),
    (error: unknown) => [{ title: "the process", error: String(error) }],
  );

  it(
    "runs every case",
    async () => {
      expect((await results).map(({ title }) => title)).toEqual(titles);
    },
    SLOW_DISK_MS,
  );

  it.each(titles)("%s", async (title) => {
    const found = (await results).filter((result) => result.title === title);
    expect(found.length).toBeGreaterThan(0);
    for (const { error } of found) expect(error).toBeUndefined();
  });
});
