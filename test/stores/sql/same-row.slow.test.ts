import { describe, expect, it } from "vitest";
import { databaseOf, mustNotRun } from "../../support/stores/sql-engine.js";
import { describeSql } from "../../support/stores/sql-engines.js";

const TIMES = { leaseMs: 30_000, retentionMs: 3_600_000 };
const COMPLETED = { state: "completed" };

describeSql("two transactions that write the same row at the same time", (engine) => {
  const db = databaseOf(engine);
  const complete = (key: string) =>
    [
      `INSERT INTO gateway_deliveries (${engine.key}, expires_at) VALUES (?, ${engine.later})`,
      [key],
    ] as const;

  /** Calls while a row that completes `key` is written, and commits it once the call waits for it. */
  async function beside<T>(key: string, call: () => PromiseLike<T>): Promise<T> {
    const stranger = await engine.connect(db.pool);
    await stranger.query("BEGIN");
    await engine.rows(stranger, ...complete(key));
    const called = call();
    await expect.poll(() => engine.waitingForRows(db.pool)).toBeGreaterThan(0);
    await stranger.query("COMMIT");
    stranger.release();
    return called;
  }

  describe.each(engine.isolations)("isolation level %s", (isolation) => {
    it(`a claim of ${engine.store} sees a completion that was committed after it began`, async () => {
      const store = engine.makeStore(db.server.pool({ isolation }));
      const key = `claim ${isolation}`;
      expect(await beside(key, async () => store.claim(key, "a", TIMES))).toEqual(COMPLETED);
    });

    it(`a concurrent completion of ${engine.store} changes nothing`, async () => {
      const store = engine.makeStore(db.server.pool({ isolation }));
      const key = `complete ${isolation}`;
      await beside(key, async () => store.complete(key, "a", { retentionMs: 1 }));
      await engine.sleep(db.pool, 0.05);
      expect(await store.claim(key, "b", TIMES)).toEqual(COMPLETED);
    });

    it(`${engine.transactions} sees a completion that was committed after it began, and runs no handler`, async () => {
      const key = `process ${isolation}`;
      const pool = db.server.pool({ isolation });
      if (engine.name === "PostgreSQL") {
        const store = engine.makeTransactions(pool);
        expect(await beside(key, () => store.process(key, mustNotRun, TIMES))).toEqual(COMPLETED);
        return;
      }
      const stranger = await engine.connect(db.pool);
      await stranger.query("BEGIN");
      const [insert, values] = complete(key);
      // The row is written after the first look, so the INSERT meets it.
      const watched = engine.watched(pool, async (sql) => {
        if (!sql.includes("INSERT")) return;
        await engine.rows(stranger, insert.replace("INSERT", "INSERT IGNORE"), values);
        setTimeout(() => void stranger.query("COMMIT"), 50);
      });
      const store = engine.makeTransactions(watched);
      expect(await store.process(key, mustNotRun, TIMES)).toEqual(COMPLETED);
      stranger.release();
    });
  });
});
