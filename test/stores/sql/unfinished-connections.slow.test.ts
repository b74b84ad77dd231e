import { beforeEach, describe, expect, it } from "vitest";
import { databaseOf, mustNotRun, type Sql } from "../../support/stores/sql-engine.js";
import { describeSql } from "../../support/stores/sql-engines.js";

const TIMES = { leaseMs: 30_000, retentionMs: 3_600_000 };
const FRESH = { state: "claimed", takeover: false };
const UNFINISHED = "handed out a client inside a transaction";

describeSql("a connection that other code released inside a transaction", (engine) => {
  const db = databaseOf(engine);
  /** A pool of one connection, which is inside a transaction. */
  let pool: Sql;

  /** Releases the pool's connection after `begin` and half of some work. */
  async function leaveOpen(begin: string): Promise<void> {
    pool = db.server.pool({ max: 1 });
    const connection = await engine.connect(pool);
    await connection.query(begin);
    await db.effects.write(connection, "half");
    connection.release();
  }

  describe("after BEGIN", () => {
    beforeEach(() => leaveOpen("BEGIN"));

    it(`${engine.transactions} runs no handler on an unfinished connection and commits nothing of it`, async () => {
      const store = engine.makeTransactions(pool);
      await expect(store.process("t", mustNotRun, TIMES)).rejects.toThrow(UNFINISHED);
      const work = (tx: Sql) => db.effects.write(tx, "t");
      expect(await store.process("t", work, TIMES)).toEqual({ state: "processed" });
      expect(await db.effects.of("t")).toBe(1);
      expect(await db.effects.of("half")).toBe(0);
    });

    it(`${engine.store} claims nothing on an unfinished connection, and grants the next claim`, async () => {
      const store = engine.makeStore(pool);
      const refused = async () => store.claim("claimed", "a", TIMES);
      await expect(refused()).rejects.toThrow(UNFINISHED);
      expect(await db.effects.remembered("claimed")).toBe(0);
      expect(await store.claim("claimed", "a", TIMES)).toEqual(FRESH);
      expect(await engine.makeStore(db.pool).claim("claimed", "b", TIMES)).toMatchObject({
        state: "in_flight",
      });
      expect(await db.effects.of("half")).toBe(0);
    });

    it(`${engine.store} rejects a completion on an unfinished connection`, async () => {
      const store = engine.makeStore(pool);
      const refused = async () => store.complete("completed", "a", TIMES);
      await expect(refused()).rejects.toThrow(UNFINISHED);
      await store.complete("completed", "a", TIMES);
      expect(await db.effects.remembered("completed")).toBe(1);
    });
  });

  if (engine.name === "PostgreSQL") return;

  describe("with autocommit off, where every read leaves a transaction open", () => {
    beforeEach(() => leaveOpen("SET autocommit = 0"));

    it("mysqlTransactions rolls back what other code left, and handles the delivery", async () => {
      const work = (tx: Sql) => db.effects.write(tx, "off");
      const store = engine.makeTransactions(pool);
      expect(await store.process("off", work, TIMES)).toEqual({ state: "processed" });
      expect(await db.effects.of("off")).toBe(1);
      expect(await db.effects.of("half")).toBe(0);
    });

    it("mysqlStore rolls back what other code left, and commits its own", async () => {
      const store = engine.makeStore(pool);
      expect(await store.claim("claimed off", "a", TIMES)).toEqual(FRESH);
      await store.complete("claimed off", "a", TIMES);
      expect(await db.effects.remembered("claimed off")).toBe(1);
      expect(await db.effects.of("half")).toBe(0);
    });

    it("migrate() and purge() leave no transaction open", async () => {
      const store = engine.makeStore(pool);
      await store.migrate();
      await store.purge();
      const rows = await engine.rows(pool, "SELECT @@in_transaction AS inTransaction");
      expect(rows).toEqual([{ inTransaction: 0 }]);
      expect(await db.effects.of("half")).toBe(0);
    });
  });
});
