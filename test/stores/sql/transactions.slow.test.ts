import { once } from "node:events";
import { expect, it } from "vitest";
import { deferred } from "../../support/deferred.js";
import { delivery } from "../../support/deliveries.js";
import {
  expectProcessed,
  createEffects,
  databaseOf,
  mustNotRun,
  type PoolSettings,
  processLater,
  processWriting,
  type Sql,
} from "../../support/stores/sql-engine.js";
import { describeSql } from "../../support/stores/sql-engines.js";
import { transactionalReceiver } from "../../support/transactional/transactional-receiver.js";
import { PROCESSED, TIMES } from "../../support/stores/store-cases.js";

const MYSQL_SESSIONS = [
  "SET innodb_snapshot_isolation = ON",
  "SET innodb_lock_wait_timeout = 0",
  "SET autocommit = 0",
  "SET completion_type = CHAIN",
  "SET sql_mode = ''",
  "SET sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES'",
];

describeSql("transactions", (engine) => {
  const db = databaseOf(engine);
  const { transactions } = engine;

  it(`${transactions} answers a duplicate in flight at once`, async () => {
    const store = engine.makeTransactions(db.pool);
    const other = engine.makeTransactions(db.server.pool());
    const [started, end] = [deferred(), deferred()];
    const held = () => {
      started.resolve();
      return end.promise;
    };
    const first = store.process("copied", held, TIMES);
    await started.promise;
    // If it waited for the row, it would wait until `end`, and so would the test.
    for (const duplicate of [store, other]) {
      const answer = await duplicate.process("copied", mustNotRun, TIMES);
      expect(answer).toEqual({ state: "in_flight", retryAfterMs: 10_000 });
    }
    const unrelated = await other.process("unrelated", () => Promise.resolve(), TIMES);
    expect(unrelated).toEqual(PROCESSED);
    end.resolve();
    expect(await first).toEqual(PROCESSED);
  });

  it.each<[string, PoolSettings]>([
    ...engine.isolations.map((level): [string, PoolSettings] => [
      `at isolation level ${level}`,
      { isolation: level },
    ]),
    ...(engine.name === "MySQL" ? MYSQL_SESSIONS : []).map((session): [string, PoolSettings] => [
      `after ${session}`,
      { session },
    ]),
  ])(`${transactions} processes one of 50 concurrent duplicates %s`, async (how, settings) => {
    const stores = [1, 2].map(() =>
      engine.makeTransactions(db.server.pool({ ...settings, max: 25 })),
    );
    const duplicates = (key: string, work: (tx: Sql) => Promise<void>) =>
      Promise.all(
        Array.from({ length: 50 }, async (_, index) => {
          const result = await stores[index % 2]?.process(key, work, TIMES);
          return result?.state;
        }),
      );
    const name = how.replace(/\W/g, " ");
    for (const key of ["1", "2", "3"].map((number) => `${name} ${number}`)) {
      const states = await duplicates(key, (tx) => db.effects.write(tx, key));
      expect(states.filter((state) => state === "processed")).toHaveLength(1);
      expect(await db.effects.of(key)).toBe(1);
      const later = await duplicates(key, mustNotRun);
      expect(new Set(later)).toEqual(new Set(["completed"]));
    }
  });

  it.each(engine.isolations)(
    `${transactions} processes different deliveries in parallel at %s`,
    async (isolation) => {
      const store = engine.makeTransactions(db.server.pool({ isolation, max: 20 }));
      const keys = Array.from({ length: 200 }, (_, index) => `${isolation} apart ${String(index)}`);
      await Promise.all(
        keys.map((key) => store.process(key, (tx) => db.effects.write(tx, key), TIMES)),
      );
      for (const key of keys) expect(await db.effects.of(key)).toBe(1);
    },
  );

  it(`${transactions} keeps other writes if a handler rolls back to a savepoint`, async () => {
    const isMysql = engine.name === "MySQL";
    const work = async (tx: Sql) => {
      const failing = isMysql ? "INSERT INTO effects VALUES (NULL)" : "SELECT 1 / 0";
      await db.effects.write(tx, "saved");
      // MySQL keeps the writes around a statement that failed; PostgreSQL rolls back to a savepoint.
      const fails = () => expect(tx.query(failing)).rejects.toThrow(/cannot be null|by zero/);
      if (isMysql) await fails();
      await tx.query("SAVEPOINT optional");
      await db.effects.write(tx, "saved");
      if (!isMysql) await fails();
      await tx.query("ROLLBACK TO SAVEPOINT optional");
    };
    const store = engine.makeTransactions(db.pool);
    await expectProcessed(store, "saved", work);
    expect(await db.effects.of("saved")).toBe(1);
  });

  if (engine.name === "PostgreSQL") return;

  it("mysqlTransactions counts the retention from the handler's end", async () => {
    const store = engine.makeTransactions(db.pool);
    const work = () => engine.sleep(db.pool, 2.1).then(() => undefined);
    expect(await store.process("retained", work, { retentionMs: 2_000 })).toEqual(PROCESSED);
    expect(await store.process("retained", work, TIMES)).toEqual({ state: "completed" });
  });

  it("mysqlTransactions does not read for the handler", async () => {
    await engine.makeStore(db.pool).claim("snapshot", "a", { ...TIMES, leaseMs: 1 });
    await engine.sleep(db.pool, 0.05);
    const work = async (tx: Sql) => {
      await db.effects.write(db.pool, "committed meanwhile");
      const sql = "SELECT 1 FROM effects WHERE name = 'committed meanwhile'";
      expect(await engine.rows(tx, sql)).toHaveLength(1);
    };
    const store = engine.makeTransactions(db.pool);
    await expectProcessed(store, "snapshot", work);
  });
});

describeSql("transactions on faults", (engine) => {
  const db = databaseOf(engine);

  async function expectNothingOf(key: string, effects = db.effects): Promise<void> {
    expect(await effects.of(key)).toBe(0);
    expect(await effects.remembered(key)).toBe(0);
  }

  it(`a broken connection to ${engine.name} rejects at once and aborts context.signal`, async () => {
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

  it("a transaction goes on after a lock wait time-out that is caught", async () => {
    const impatient = db.server.pool({ session: "SET innodb_lock_wait_timeout = 0" });
    const release = await contend(db.pool);
    const result = await engine.makeTransactions(impatient).process(
      "waited",
      async (tx) => {
        await db.effects.write(tx, "waited");
        await expect(tx.query("DELETE FROM contended")).rejects.toHaveProperty("errno", 1205);
        await db.effects.write(tx, "waited");
      },
      TIMES,
    );
    await release();
    expect(result).toEqual(PROCESSED);
    expect(await db.effects.of("waited")).toBe(2);
  });

  it("a transaction rolled back at a lock wait time-out keeps nothing", async () => {
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
        TIMES,
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
