import { describe, expect, it } from "vitest";
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
const COMPLETED = { state: "completed" };
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
  const { store: leaseStore, transactions } = engine;

  it(`${transactions} commits the handler's writes and the key together, once`, async () => {
    const { effects } = db;
    const store = engine.makeTransactions(db.pool);
    const work = async (tx: Sql): Promise<void> => {
      await effects.write(tx, "together");
      expect(await effects.of("together")).toBe(0);
      expect(await effects.remembered("together")).toBe(0);
    };
    expect(await store.process("together", work, RETENTION)).toEqual(PROCESSED);
    expect(await effects.of("together")).toBe(1);
    expect(await effects.remembered("together")).toBe(1);
    expect(await store.process("together", work, RETENTION)).toEqual(COMPLETED);
    expect(await effects.of("together")).toBe(1);
  });

  it(`${transactions} rolls back if the handler throws, and rejects with the same error`, async () => {
    const { effects } = db;
    const store = engine.makeTransactions(db.pool);
    const anything: readonly unknown[] = [new Error("no"), "a string", undefined, null];
    for (const thrown of anything as readonly Error[]) {
      const work = async (tx: Sql): Promise<void> => {
        await effects.write(tx, "failing");
        throw thrown;
      };
      const caught = store.process("failing", work, RETENTION).then(
        () => ({ error: "none" }),
        (error: unknown) => ({ error }),
      );
      expect((await caught).error).toBe(thrown);
    }
    const throwsAtOnce = (): never => {
      throw new RangeError("at once");
    };
    await expect(store.process("failing", throwsAtOnce, RETENTION)).rejects.toThrow(RangeError);
    expect(await effects.of("failing")).toBe(0);
    expect(await effects.remembered("failing")).toBe(0);
    const work = (tx: Sql) => effects.write(tx, "failing");
    expect(await store.process("failing", work, RETENTION)).toEqual(PROCESSED);
  });

  it(`${transactions} answers a duplicate in flight at once, and completed after the commit`, async () => {
    const store = engine.makeTransactions(db.pool);
    const other = engine.makeTransactions(db.server.pool());
    const [started, end] = [deferred(), deferred()];
    const first = store.process(
      "copied",
      async () => {
        started.resolve();
        await end.promise;
      },
      RETENTION,
    );
    await started.promise;
    // If it waited for the row, it would wait until `end`, and so would the test.
    for (const duplicate of [store, other]) {
      expect(await duplicate.process("copied", mustNotRun, RETENTION)).toEqual({
        state: "in_flight",
        retryAfterMs: 10_000,
      });
    }
    const unrelated = await other.process("unrelated", () => Promise.resolve(), RETENTION);
    expect(unrelated).toEqual(PROCESSED);
    end.resolve();
    expect(await first).toEqual(PROCESSED);
    expect(await other.process("copied", mustNotRun, RETENTION)).toEqual(COMPLETED);
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

  const fromEnd = engine.name === "MySQL" ? ", which counts from the end of the handler" : "";

  it(`${transactions} processes a key again after its retention${fromEnd}`, async () => {
    const store = engine.makeTransactions(db.pool);
    const work = async (tx: Sql): Promise<void> => {
      await db.effects.write(tx, "retained");
      if (fromEnd !== "") await engine.sleep(db.pool, 2.1);
    };
    expect(await store.process("retained", work, { retentionMs: 2_000 })).toEqual(PROCESSED);
    expect(await store.process("retained", work, RETENTION)).toEqual(COMPLETED);
    await engine.sleep(db.pool, 2.1);
    expect(await store.process("retained", work, RETENTION)).toEqual(PROCESSED);
    expect(await db.effects.of("retained")).toBe(2);
    expect(await store.process("retained", work, RETENTION)).toEqual(COMPLETED);
    expect(await engine.secondsLeft(db.pool, "expires_at", "retained")).toBeCloseTo(3600, -1);
  });

  it(`${transactions} uses any text of a key as a value, never as SQL`, async () => {
    const store = engine.makeTransactions(db.pool);
    const awkward = [
      "__proto__",
      "constructor",
      "'; DROP TABLE effects; --",
      '"',
      "?",
      "$1",
      "\\'",
    ];
    for (const key of awkward) {
      const work = (tx: Sql) => db.effects.write(tx, key);
      expect(await store.process(key, work, RETENTION)).toEqual(PROCESSED);
      expect(await store.process(key, work, RETENTION)).toEqual(COMPLETED);
      expect(await db.effects.of(key)).toBe(1);
    }
  });

  describe(`${transactions} on the table of ${leaseStore}`, () => {
    it(`${transactions} respects leases and completions of ${leaseStore}`, async () => {
      const store = engine.makeTransactions(db.pool);
      const leases = engine.makeStore(db.pool);
      await leases.claim("leased", "a", { leaseMs: 60_000, ...RETENTION });
      const duplicate = await store.process("leased", mustNotRun, RETENTION);
      expect(duplicate).toMatchObject({ state: "in_flight" });
      expect(duplicate).toHaveProperty("retryAfterMs", expect.closeTo(60_000, -4));
      await leases.complete("leased", "a", RETENTION);
      expect(await store.process("leased", mustNotRun, RETENTION)).toEqual(COMPLETED);
    });

    it(`${transactions} reports the takeover of an ended lease, also after a failure`, async () => {
      const store = engine.makeTransactions(db.pool);
      const leases = engine.makeStore(db.pool);
      const takeovers: unknown[] = [];
      const process = (key: string, fails = false) =>
        store.process(
          key,
          (_tx, facts) => {
            takeovers.push(facts?.takeover);
            return fails ? Promise.reject(new Error("no")) : Promise.resolve();
          },
          RETENTION,
        );
      await process("never leased");
      await leases.claim("released", "a", { leaseMs: 60_000, ...RETENTION });
      await leases.release("released", "a");
      await process("released");
      await leases.claim("forgotten", "a", { leaseMs: 1, retentionMs: 1 });
      await leases.claim("left", "a", { leaseMs: 1, ...RETENTION });
      await engine.sleep(db.pool, 0.05);
      await process("forgotten");
      expect(takeovers).toEqual([false, false, false]);
      await expect(process("left", true)).rejects.toThrow("no");
      await process("left");
      expect(takeovers.slice(3)).toEqual([true, true]);
    });

    it(`${leaseStore} sees a key that ${transactions} took over as completed`, async () => {
      const store = engine.makeTransactions(db.pool);
      const leases = engine.makeStore(db.pool);
      await leases.claim("ended", "a", { leaseMs: 1, ...RETENTION });
      await engine.sleep(db.pool, 0.05);
      const work = (tx: Sql) => db.effects.write(tx, "ended");
      expect(await store.process("ended", work, RETENTION)).toEqual(PROCESSED);
      expect(await leases.claim("ended", "b", { leaseMs: 1_000, ...RETENTION })).toEqual(COMPLETED);
      expect(await leases.renew("ended", "a", { leaseMs: 1_000 })).toBe(false);
    });
  });

  it(`${transactions} refuses anything but a pool, and an unknown option`, () => {
    for (const notAPool of [undefined, {}, ...engine.notPools]) {
      expect(() => engine.makeTransactions(notAPool as Sql)).toThrow(engine.notAPool);
    }
    const misspelt = { tables: "a" };
    expect(() => engine.makeTransactions(db.pool, misspelt as object)).toThrow(
      "tables is no option",
    );
    expect(() => engine.makeTransactions(db.pool, { table: "a-b" })).toThrow("table must be");
  });

  if (engine.name === "PostgreSQL") return;

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
