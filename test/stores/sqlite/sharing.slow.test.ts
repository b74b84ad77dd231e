import { describe, expect, it } from "vitest";
import { sqliteStore, sqliteTransactions } from "../../../src/stores/sqlite/index.js";
import { sqliteProcesses, startTogether } from "../../support/sqlite/processes.js";
import { SQLITE_RUNTIMES } from "../../support/sqlite/runtimes.js";

const KINDS = ["store", "transactions"] as const;

describe.each(SQLITE_RUNTIMES)("busy receivers with $driver on one file", (runtime) => {
  const { folder, start } = sqliteProcesses();

  /** Starts receivers that have 16 deliveries in flight for `loadMs`, all at the same time. */
  const startLoad = (count: number, kind: string, loadMs: number, handlerMs: number) =>
    startTogether(count, () =>
      start(runtime, "load-child.ts", [kind, String(loadMs), String(handlerMs)]),
    );

  it.each(KINDS)(
    "busy receivers get the same share of the file and answer no 503, with %s",
    async (kind) => {
      const load = await startLoad(4, kind, 5_000, 0);
      const lines = await Promise.all(load.map((each) => each.line()));
      const counts = lines.map((line) => JSON.parse(line) as Record<string, number>);
      for (const { handled = 0, ...others } of counts) {
        expect(handled).toBeGreaterThan(0);
        expect(others).toEqual({});
      }
      const shares = counts.map(({ handled = 0 }) => handled);
      const mean = shares.reduce((sum, share) => sum + share) / shares.length;
      expect(Math.min(...shares)).toBeGreaterThan(mean / 4);
    },
  );

  it.each(KINDS)("busy receivers let another process open the file, with %s", async (kind) => {
    await startLoad(3, kind, 60_000, 8);
    for (let opening = 0; opening < 12; opening++) {
      const database = folder().open();
      const open = opening % 2 === 0 ? sqliteStore : sqliteTransactions;
      expect(() => open({ database })).not.toThrow();
      database.close();
    }
  });
});
