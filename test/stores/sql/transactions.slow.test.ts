import { expect, it } from "vitest";
import { deferred } from "../../support/deferred.js";
import {
  databaseOf,
  mustNotRun,
  type PoolSettings,
  type Sql,
} from "../../support/stores/sql-engine.js";
import { describeSql } from "../../support/stores/sql-engines.js";

const RETENTION = { retentionMs: 3_600_000 };
const PROCESSED = { state: "processed" };
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

  it(`${transactions} rolls back if the handler throws before it returns a promise`, async () => {
    const throwsAtOnce = (): never => {
      throw new RangeError("at once");
    };
    const store = engine.makeTransactions(db.pool);
    await expect(store.process("failing", throwsAtOnce, RETENTION)).rejects.toThrow(RangeError);
    expect(await db.effects.remembered("failing")).toBe(0);
  });

  it(`${transactions} answers a duplicate in flight at once, and does not delay other deliveries`, async () => {
    const store = engine.makeTransactions(db.pool);
    const other = engine.makeTransactions(db.server.pool());
    const [started, end] = [deferred(), deferred()];
    const held = () => {
      started.resolve();
      return end.promise;
    };
    const first = store.process("copied", held, RETENTION);
    await started.promise;
    // If it waited for the row, it would wait until `end`, and so would the test.
    for (const duplicate of [store, other]) {
      const answer = await duplicate.process("copied", mustNotRun, RETENTION);
      expect(answer).toEqual({ state: "in_flight", retryAfterMs: 10_000 });
    }
    const unrelated = await other.process("unrelated", () => Promise.resolve(), RETENTION);
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
  ])(
    `${transactions} processes one of 50 concurrent duplicates %s and fails none`,
    async (how, settings) => {
      const stores = [1, 2].map(() =>
        engine.makeTransactions(db.server.pool({ ...settings, max: 25 })),
      );
      const duplicates = (key: string, work: (tx: Sql) => Promise<void>) =>
        Promise.all(
          Array.from({ length: 50 }, async (_, index) => {
            const result = await stores[index % 2]?.process(key, work, RETENTION);
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
    },
  );

  it.each(engine.isolations)(
    `${transactions} processes different deliveries in parallel at isolation level %s`,
    async (isolation) => {
      const store = engine.makeTransactions(db.server.pool({ isolation, max: 20 }));
      const keys = Array.from({ length: 200 }, (_, index) => `${isolation} apart ${String(index)}`);
      await Promise.all(
        keys.map((key) => store.process(key, (tx) => db.effects.write(tx, key), RETENTION)),
      );
      for (const key of keys) expect(await db.effects.of(key)).toBe(1);
    },
  );

  it(`${transactions} keeps the rest of the writes if a handler rolls back to a savepoint`, async () => {
    const isMysql = engine.name === "MySQL";
    const work = async (tx: Sql): Promise<void> => {
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
    expect(await store.process("saved", work, RETENTION)).toEqual(PROCESSED);
    expect(await db.effects.of("saved")).toBe(1);
  });

  if (engine.name === "PostgreSQL") return;

  it("mysqlTransactions counts the retention from the end of the handler", async () => {
    const store = engine.makeTransactions(db.pool);
    const work = () => engine.sleep(db.pool, 2.1).then(() => undefined);
    expect(await store.process("retained", work, { retentionMs: 2_000 })).toEqual(PROCESSED);
    expect(await store.process("retained", work, RETENTION)).toEqual({ state: "completed" });
  });

  it("mysqlTransactions does not read for the handler: its snapshot begins with its first read", async () => {
    await engine.makeStore(db.pool).claim("snapshot", "a", { leaseMs: 1, ...RETENTION });
    await engine.sleep(db.pool, 0.05);
    const work = async (tx: Sql): Promise<void> => {
      await db.effects.write(db.pool, "committed meanwhile");
      const sql = "SELECT 1 FROM effects WHERE name = 'committed meanwhile'";
      expect(await engine.rows(tx, sql)).toHaveLength(1);
    };
    const store = engine.makeTransactions(db.pool);
    expect(await store.process("snapshot", work, RETENTION)).toEqual(PROCESSED);
  });
});
