import { once } from "node:events";
import { expect, it } from "vitest";
import { delivery } from "../../support/deliveries.js";
import {
  createEffects,
  databaseOf,
  processLater,
  processWriting,
  type Sql,
} from "../../support/stores/sql-engine.js";
import { describeSql } from "../../support/stores/sql-engines.js";
import { transactionalReceiver } from "../../support/transactional/transactional-receiver.js";

const RETENTION = { retentionMs: 3_600_000 };
const PROCESSED = { state: "processed" };

describeSql("transactions on faults", (engine) => {
  const db = databaseOf(engine);

  async function expectNothingOf(key: string, effects = db.effects): Promise<void> {
    expect(await effects.of(key)).toBe(0);
    expect(await effects.remembered(key)).toBe(0);
  }

  it(`a transaction whose connection to ${engine.name} breaks rejects at once and aborts context.signal`, async () => {
    // Without a listener for its error, the client would end the process here.
    let aborted: unknown;
    const store = engine.makeTransactions(db.pool);
    const receiver = transactionalReceiver(store, async ({ id, tx, signal }) => {
      await db.effects.write(tx, id);
      const lost = once(signal, "abort");
      await engine.kill(db.pool, tx);
      await lost;
      aborted = signal.reason;
      await expect(tx.query("SELECT 1")).rejects.toThrow("after the handler had settled");
    });
    const response = await receiver.receive(await delivery({ id: "broken" }));
    expect(response).toMatchObject({ status: 503, outcome: "store_unavailable" });
    expect(aborted).toMatchObject({ code: "transaction_lost" });
    await expectNothingOf("broken");
    expect(await processLater(engine, db, "broken")).toBe("processed");
  });

  if (engine.name === "PostgreSQL") {
    it.each<[string, string, object, (tx: Sql) => unknown]>([
      [
        "whose handler catches the error of a statement",
        "caught",
        { message: expect.stringContaining("rolled back at COMMIT") as string },
        (tx) => tx.query("SELECT 1 / 0").catch(() => undefined),
      ],
      [
        "that the server refuses to commit",
        "refused",
        { code: "23503" },
        async (tx) => {
          await tx.query(`CREATE TABLE parents (id int PRIMARY KEY);
            CREATE TABLE children (parent int REFERENCES parents DEFERRABLE INITIALLY DEFERRED)`);
          await tx.query("INSERT INTO children VALUES (1)");
        },
      ],
    ])("a transaction %s rejects and keeps nothing", async (_how, key, error, beside) => {
      const single = db.server.pool({ max: 1 });
      const store = engine.makeTransactions(single);
      await expect(processWriting(store, db.effects, key, beside)).rejects.toMatchObject(error);
      await expectNothingOf(key);
      expect(single).toHaveProperty("idleCount", 1);
    });
    return;
  }

  /** A row that another transaction holds until the returned function is called. */
  async function contend(pool: Sql): Promise<() => Promise<void>> {
    await pool.query("CREATE TABLE contended (id int PRIMARY KEY)");
    await pool.query("INSERT INTO contended VALUES (1)");
    const stranger = await engine.connect(pool);
    await stranger.query("BEGIN");
    await stranger.query("SELECT * FROM contended FOR UPDATE");
    return async () => {
      await stranger.query("ROLLBACK");
      stranger.release();
    };
  }

  it("a transaction goes on after a lock wait time-out that its handler catches, as in MySQL", async () => {
    const impatient = db.server.pool({ session: "SET innodb_lock_wait_timeout = 0" });
    const release = await contend(db.pool);
    const result = await engine.makeTransactions(impatient).process(
      "waited",
      async (tx) => {
        await db.effects.write(tx, "waited");
        await expect(tx.query("DELETE FROM contended")).rejects.toHaveProperty("errno", 1205);
        await db.effects.write(tx, "waited");
      },
      RETENTION,
    );
    await release();
    expect(result).toEqual(PROCESSED);
    expect(await db.effects.of("waited")).toBe(2);
  });

  it("a transaction that the server rolls back at a lock wait time-out rejects and keeps nothing", async () => {
    const other = await engine.start({
      "innodb-rollback-on-timeout": "ON",
      "innodb-lock-wait-timeout": "1",
    });
    try {
      const pool = other.pool();
      const store = engine.makeTransactions(pool);
      await store.migrate();
      const effects = await createEffects(engine, pool);
      await contend(pool);
      const lost = store.process(
        "k",
        async (tx) => {
          await effects.write(tx, "k");
          // The handler drops the error, and its later statements have been sent already.
          const late = [tx.query("DELETE FROM contended"), effects.write(tx, "k")];
          await Promise.allSettled(late);
          await effects.write(tx, "k");
        },
        RETENTION,
      );
      await expect(lost).rejects.toMatchObject({
        code: "transaction_aborted",
        cause: { code: "ER_LOCK_WAIT_TIMEOUT" },
      });
      await expectNothingOf("k", effects);
    } finally {
      await other.close();
    }
  });
});
