import { once } from "node:events";
import { expect, it, vi } from "vitest";
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

  const conflict = engine.name === "MySQL" ? "deadlock" : "serialization conflict";

  it(`a transaction that loses a ${conflict} rejects, runs no handler twice, and what the handler writes afterwards is undone`, async () => {
    await db.pool.query(`CREATE TABLE balances (name ${engine.text} PRIMARY KEY, amount int)`);
    await db.pool.query("INSERT INTO balances VALUES ('a', 1), ('b', 1)");
    const isolation = engine.isolations[engine.name === "MySQL" ? 1 : 2] ?? "";
    const store = engine.makeTransactions(db.server.pool({ isolation }));
    const haveFirst = new Set<string>();
    let runs = 0;
    const cross = async (tx: Sql, key: string): Promise<void> => {
      runs += 1;
      const bothHaveFirst = async (): Promise<void> => {
        haveFirst.add(key);
        await vi.waitUntil(() => haveFirst.size === 2, { timeout: 20_000 });
      };
      if (engine.name === "PostgreSQL") {
        await db.effects.write(tx, key);
        await tx.query("SELECT sum(amount) FROM balances");
        await bothHaveFirst();
        await engine.rows(tx, "UPDATE balances SET amount = 0 WHERE name = ?", [key]);
        return;
      }
      const lock = (name: string) =>
        engine.rows(tx, "SELECT amount FROM balances WHERE name = ? FOR UPDATE", [name]);
      await lock(key);
      await bothHaveFirst();
      // The handler drops the error, and its later statements have been sent already.
      await Promise.allSettled([
        lock(key === "a" ? "b" : "a"),
        db.effects.write(tx, key),
        db.effects.write(tx, key),
      ]);
      await db.effects.write(tx, key);
    };
    const results = await Promise.allSettled(
      ["a", "b"].map((key) => store.process(key, (tx) => cross(tx, key), RETENTION)),
    );
    expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const rejected = results.find((result) => result.status === "rejected");
    expect(rejected?.reason).toMatchObject(
      engine.name === "MySQL"
        ? { code: "transaction_aborted", cause: { code: "ER_LOCK_DEADLOCK" } }
        : { code: "40001" },
    );
    expect(runs).toBe(2);
    const loser = results[0]?.status === "rejected" ? "a" : "b";
    await expectNothingOf(loser);
    expect(await processLater(engine, db, loser)).toBe("processed");
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
          await tx.query("DELETE FROM contended").catch(() => undefined);
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
