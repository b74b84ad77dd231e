import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { sqliteStore, sqliteTransactions } from "../../../src/stores/sqlite/index.js";
import { rowsOf, valueOf } from "../../support/sqlite/drivers.js";
import type { SqliteProcess } from "../../support/sqlite/process.js";
import { sqliteProcesses, startTogether } from "../../support/sqlite/processes.js";
import { SQLITE_RUNTIMES } from "../../support/sqlite/runtimes.js";

const TIMES = { leaseMs: 60_000, retentionMs: 3_600_000 };

describe.each(SQLITE_RUNTIMES)("processes with $driver on one file", (runtime) => {
  const { folder, makeFolder, start: startScript } = sqliteProcesses();

  const start = (work: string, argument = "", maxFileBytes?: number): SqliteProcess => {
    const limits = maxFileBytes === undefined ? {} : { maxFileBytes };
    return startScript(runtime, "work-child.ts", [work, argument], limits);
  };

  /** What each of several processes that work at the same time writes. */
  async function linesOf(count: number, work: string, argument?: string): Promise<string[]> {
    const started = await startTogether(count, () => start(work, argument));
    return Promise.all(started.map((each) => each.line()));
  }

  it("processes can create the file and its table at the same time", async () => {
    for (let round = 0; round < 2; round++) {
      folder().remove();
      makeFolder();
      expect(await linesOf(5, "open")).toEqual(Array(5).fill("opened"));
      const database = folder().open();
      // The last process to close the file may still tidy up.
      database.exec("PRAGMA busy_timeout = 5000");
      expect(valueOf(database, "SELECT count(*) FROM gateway_deliveries")).toBe(5);
      expect(valueOf(database, "PRAGMA journal_mode")).toBe("wal");
    }
  });

  it("processes that race for 1 000 keys claim each key once", async () => {
    const printed = await linesOf(4, "race", "1000");
    const won = printed.map((line) => JSON.parse(line) as string[]);
    expect(won.flat()).toHaveLength(1_000);
    expect(new Set(won.flat()).size).toBe(1_000);
    // If one process got no key, it was late and there was no race.
    expect(won.filter((keys) => keys.length > 0).length).toBeGreaterThan(1);
  });

  it("a process takes over from a killed one after the lease has ended and not before", async () => {
    const holder = start("hold", "10000");
    expect(await holder.line()).toBe("held");
    await holder.kill();
    const store = sqliteStore({ database: folder().open() });
    const held = await store.claim("held", "b", TIMES);
    expect(held).toMatchObject({ state: "in_flight" });
    await wait(held.state === "in_flight" ? held.retryAfterMs + 5 : 0);
    expect(await store.claim("held", "b", TIMES)).toEqual({ state: "claimed", takeover: true });
  });

  it.each([
    ["a killed process loses no acknowledged completion", "complete"],
    ["a killed process loses no acknowledged completion of a group", "completeTogether"],
  ])("%s", async (_title, work) => {
    const workers = [start(work), start(work)];
    await Promise.all(workers.map((worker) => worker.line()));
    // Killed in the middle of their work.
    await expect.poll(() => workers.flatMap(({ lines }) => lines).length).toBeGreaterThan(20);
    await Promise.all(workers.map((worker) => worker.kill()));
    const acknowledged = workers.flatMap((worker) => [...worker.lines]);
    const store = sqliteStore({ database: folder().open() });
    for (const key of acknowledged) {
      expect(await store.claim(key, "b", TIMES)).toEqual({ state: "completed" });
    }
  });

  it("a process with a full disk is refused every claim that is not in the file", async () => {
    const worker = start("fill", "", 102_400);
    const { claimed, refused } = JSON.parse(await worker.line()) as {
      claimed: string[];
      refused: number;
    };
    // While it closes the file it locks out every reader.
    await worker.ended;
    expect(claimed.length).toBeGreaterThan(5);
    expect(refused).toBeGreaterThan(5);
    const rows = rowsOf(folder().open(), "SELECT key FROM gateway_deliveries").flat();
    expect(rows.sort()).toEqual(claimed.sort());
  });

  it("a process that is killed inside a transaction leaves neither effect nor key", async () => {
    const worker = start("halfway");
    expect(await worker.line()).toBe("written");
    await worker.kill();
    const database = folder().open();
    expect(rowsOf(database, "SELECT * FROM effects")).toEqual([]);
    const store = sqliteTransactions({ database });
    const run = store.process("half", () => Promise.resolve(), TIMES);
    expect(await run).toEqual({ state: "processed" });
  });

  it("a process that is killed at any time leaves both effects and the key of a delivery, or none", async () => {
    const workers = [start("transact"), start("transact")];
    await Promise.all(workers.map((worker) => worker.line()));
    // Killed in the middle of their work.
    await expect.poll(() => workers.flatMap(({ lines }) => lines).length).toBeGreaterThan(20);
    await Promise.all(workers.map((worker) => worker.kill()));
    const database = folder().open();
    const effects = rowsOf(database, "SELECT key, count(*) FROM effects GROUP BY key ORDER BY key");
    const keys = rowsOf(database, "SELECT key FROM gateway_deliveries ORDER BY key").flat();
    expect(effects).toEqual(keys.map((key) => [key, 2]));
    const acknowledged = workers.flatMap((worker) => [...worker.lines]);
    expect(keys).toEqual(expect.arrayContaining(acknowledged));
  });
});
