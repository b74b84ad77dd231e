import { expect, it, vi } from "vitest";
import { deferred } from "../../support/deferred.js";
import { databaseOf, mustNotRun, type HeldConnection } from "../../support/stores/sql-engine.js";
import { describeSql } from "../../support/stores/sql-engines.js";

const RETENTION = { retentionMs: 3_600_000 };

describeSql("the connections of transactions", (engine) => {
  const isMysql = engine.name === "MySQL";
  const db = databaseOf(engine);
  const { transactions } = engine;

  it(`${transactions} releases a connection that arrives too late`, async () => {
    const pool = db.server.pool({ max: 1 });
    const connection = await engine.connect(pool);
    const pending = deferred<HeldConnection>();
    const connect = () => pending.promise;
    const slow = {
      query: (sql: string, values?: unknown[]) => pool.query(sql, values),
      connect,
      getConnection: connect,
    };
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const late = engine.makeTransactions(slow).process("late", mustNotRun, RETENTION);
    const method = isMysql ? "getConnection" : "connect";
    // What has passed before, by the real clock, is taken off.
    const message = new RegExp(`^pool\\.${method} took longer than \\d+ ms$`);
    const rejection = expect(late).rejects.toThrow(message);
    await vi.advanceTimersByTimeAsync(10_000);
    await rejection;
    vi.useRealTimers();
    pending.resolve(connection);
    // The pool has one connection: this waits for its release.
    (await engine.connect(pool)).release();
  });

  it(`${transactions} calls no handler if the table is missing or read-only`, async () => {
    const missing = engine.makeTransactions(db.pool, { table: "missing" });
    const noTable = isMysql ? { errno: 1146 } : { code: "42P01" };
    await expect(missing.process("k", mustNotRun, RETENTION)).rejects.toMatchObject(noTable);
    const session = isMysql
      ? "SET SESSION TRANSACTION READ ONLY"
      : "SET default_transaction_read_only = on";
    const readOnly = engine.makeTransactions(db.server.pool({ session }));
    const notAllowed = isMysql ? { errno: 1792 } : { code: "25006" };
    await expect(readOnly.process("k", mustNotRun, RETENTION)).rejects.toMatchObject(notAllowed);
  });
});
