import { describe, expect, it } from "vitest";
import { sqliteStore, sqliteTransactions } from "../../../src/stores/sqlite/index.js";
import { rowsOf, valueOf } from "../../support/sqlite/drivers.js";
import { sqliteProcesses } from "../../support/sqlite/processes.js";
import { SQLITE_RUNTIMES } from "../../support/sqlite/runtimes.js";
import { verbsOf } from "../../support/stores/store-cases.js";

const KINDS = ["store", "transactions"] as const;

describe.each(SQLITE_RUNTIMES)("processes with $driver on one file", (runtime) => {
  const { folder, startTogether, killTwo } = sqliteProcesses(runtime);

  it("processes can create the file and its table at the same time", async () => {
    const opening = await startTogether(5, "open");
    for (const each of opening) expect(await each.line()).toBe("opened");
    const database = folder().open();
    // The last process to close the file may still tidy up.
    database.exec("PRAGMA busy_timeout = 5000");
    expect(valueOf(database, "SELECT count(*) FROM gateway_deliveries")).toBe(5);
    expect(valueOf(database, "PRAGMA journal_mode")).toBe("wal");
  });

  it("processes that race for 1 000 keys claim each key once", async () => {
    const racing = await startTogether(4, "race", 1_000);
    const printed = await Promise.all(racing.map((each) => each.line()));
    const won = printed.map((line) => JSON.parse(line) as string[]);
    expect(won.flat()).toHaveLength(1_000);
    expect(new Set(won.flat()).size).toBe(1_000);
    // If one process got no key, it was late and there was no race.
    expect(won.filter((keys) => keys.length > 0).length).toBeGreaterThan(1);
  });

  it("a killed process loses no acknowledged completion of a group", async () => {
    const acknowledged = await killTwo("complete");
    const store = sqliteStore({ database: folder().open() });
    for (const key of acknowledged) {
      await verbsOf(store).completed(key, "b");
    }
  });

  it("a killed process leaves both effects and the key of a delivery, or none", async () => {
    const acknowledged = await killTwo("transact");
    const database = folder().open();
    const effects = rowsOf(database, "SELECT key, count(*) FROM effects GROUP BY key ORDER BY key");
    const keys = rowsOf(database, "SELECT key FROM gateway_deliveries ORDER BY key").flat();
    expect(effects).toEqual(keys.map((key) => [key, 2]));
    expect(keys).toEqual(expect.arrayContaining([...acknowledged]));
  });

  it.each(KINDS)("busy receivers share the file and answer no 503, with %s", async (kind) => {
    const load = await startTogether(4, "load", kind, 5_000, 0);
    const lines = await Promise.all(load.map((each) => each.line()));
    const counts = lines.map((line) => JSON.parse(line) as Record<string, number>);
    for (const { handled = 0, ...others } of counts) {
      expect(handled).toBeGreaterThan(0);
      expect(others).toEqual({});
    }
    const shares = counts.map(({ handled = 0 }) => handled);
    const mean = shares.reduce((sum, share) => sum + share) / shares.length;
    expect(Math.min(...shares)).toBeGreaterThan(mean / 4);
  });

  it.each(KINDS)("busy receivers let another process open the file, with %s", async (kind) => {
    await startTogether(3, "load", kind, 60_000, 8);
    for (let opening = 0; opening < 12; opening++) {
      const database = folder().open();
      const open = opening % 2 === 0 ? sqliteStore : sqliteTransactions;
      expect(() => open({ database })).not.toThrow();
      database.close();
    }
  });
});
