import { describe, expect, it } from "vitest";
import { sqliteStore, sqliteTransactions } from "../../../src/stores/sqlite/index.js";
import { valueOf } from "../../support/sqlite/drivers.js";
import { sqliteProcesses } from "../../support/sqlite/processes.js";
import { SQLITE_RUNTIMES } from "../../support/sqlite/runtimes.js";

const KINDS = ["store", "transactions"] as const;

describe.each(SQLITE_RUNTIMES)("processes with $driver on one file", (runtime) => {
  const { folder, startTogether } = sqliteProcesses(runtime);

  it("processes can create the file and its table at the same time", async () => {
    const opening = await startTogether(5, "open");
    for (const each of opening) expect(await each.line()).toBe("opened");
    const database = folder().open();
    // The last process to close the file may still tidy up.
    database.exec("PRAGMA busy_timeout = 5000");
    expect(valueOf(database, "SELECT count(*) FROM gateway_deliveries")).toBe(5);
    expect(valueOf(database, "PRAGMA journal_mode")).toBe("wal");
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
