import { describe, expect, it } from "vitest";
import { allCases } from "../../support/sqlite/all-cases.js";
import { betterSqlite3 } from "../../support/sqlite/drivers.js";
import { startSqliteProcess } from "../../support/sqlite/process.js";
import { SQLITE_RUNTIMES } from "../../support/sqlite/runtimes.js";

/** 10 000 keys are 25 000 writes, and each waits for the disk. */
const SLOW_DISK_MS = 300_000;
const titles = allCases(betterSqlite3).map(({ title }) => title);

describe("the SQLite stores on node:sqlite", () => {
  const runtime = SQLITE_RUNTIMES.find(({ driver }) => driver === "node:sqlite");
  if (runtime === undefined) {
    it("node:sqlite is not tested here: no Node that has it was found", () => {
      expect(process.env["CI"]).not.toBe("true");
    });
    return;
  }

  // One process runs all cases and prints a line for each. The first test waits for it.
  const run = startSqliteProcess(runtime, "cases-child.ts", []);
  const results = run.ended.then(
    () => run.lines.map((line) => JSON.parse(line) as { title: string; error?: string }),
    (error: unknown) => [{ title: "the process", error: String(error) }],
  );

  it(
    "node:sqlite runs every case of better-sqlite3",
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
