import { describe, expect, it } from "vitest";
import { sqliteProcesses } from "../../support/sqlite/processes.js";
import { SQLITE_RUNTIMES } from "../../support/sqlite/runtimes.js";

const KINDS = ["store", "transactions"] as const;

describe.each(SQLITE_RUNTIMES)("processes with $driver on one file", (runtime) => {
  const { startTogether } = sqliteProcesses(runtime);

  it.each(KINDS)("busy receivers share the file and answer no 503, with %s", async (kind) => {
    const load = await startTogether(4, kind, 5_000);
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
});
