import type { Pool, PoolConnection } from "mysql2/promise";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { mysqlStore, mysqlTransactions } from "../../../src/stores/mysql/index.js";
import { deferred } from "../../support/deferred.js";
import { describeMysql } from "../../support/mysql/mysql-describe.js";
import { createEffects, mustNotRun, type Effects } from "../../support/mysql/mysql-effects.js";
import { startMysql, type MysqlServer } from "../../support/mysql/mysql-server.js";

const RETENTION = { retentionMs: 3_600_000 };
const PROCESSED = { state: "processed" };
const COMPLETED = { state: "completed" };
const ISOLATIONS = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

describeMysql("mysqlTransactions", () => {
  let server: MysqlServer;
  let pool: Pool;
  let effects: Effects;

  beforeAll(async () => {
    server = await startMysql();
    pool = server.pool();
    await mysqlTransactions({ pool }).migrate();
    effects = await createEffects(pool);
  });
  afterAll(async () => {
    await server.close();
  });

  /** A pool whose connections first run `sql`. */
  function poolWith(sql: string, connectionLimit = 10): Pool {
    const made = server.pool({ connectionLimit });
    made.pool.on("connection", (connection) => void connection.query(sql));
    return made;
  }

  const sleep = (seconds: number) => pool.query(`DO SLEEP(${String(seconds)})`);

  it("mysqlTransactions commits the handler's writes and the key together, once", async () => {
    const store = mysqlTransactions({ pool });
    const work = async (tx: PoolConnection): Promise<void> => {
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

  it("mysqlTransactions rolls back if the handler throws, and rejects with the same error", async () => {
    const store = mysqlTransactions({ pool });
    const anything: readonly unknown[] = [new Error("no"), "a string", undefined, null];
    for (const thrown of anything as readonly Error[]) {
      const work = async (tx: PoolConnection): Promise<void> => {
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
    const work = (tx: PoolConnection) => effects.write(tx, "failing");
    expect(await store.process("failing", work, RETENTION)).toEqual(PROCESSED);
  });

  it("mysqlTransactions answers a duplicate in flight at once, and completed after the commit", async () => {
    const store = mysqlTransactions({ pool });
    const other = mysqlTransactions({ pool: server.pool() });
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

  it.each([
    ...ISOLATIONS.map((level) => `SET SESSION TRANSACTION ISOLATION LEVEL ${level}`),
    "SET innodb_snapshot_isolation = ON",
    "SET innodb_lock_wait_timeout = 0",
    "SET autocommit = 0",
    "SET completion_type = CHAIN",
    "SET sql_mode = ''",
    "SET sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES'",
  ])(
    "mysqlTransactions processes one of 50 concurrent duplicates after %s and fails none",
    async (session) => {
      const stores = [1, 2].map(() => mysqlTransactions({ pool: poolWith(session, 25) }));
      const duplicates = (key: string, work: (tx: PoolConnection) => Promise<void>) =>
        Promise.all(
          Array.from({ length: 50 }, async (_, index) => {
            const result = await stores[index % 2]?.process(key, work, RETENTION);
            return result?.state;
          }),
        );
      const name = session.replace(/\W/g, " ");
      for (const key of ["1", "2", "3"].map((number) => `${name} ${number}`)) {
        const states = await duplicates(key, (tx) => effects.write(tx, key));
        expect(states.filter((state) => state === "processed")).toHaveLength(1);
        expect(await effects.of(key)).toBe(1);
        const later = await duplicates(key, mustNotRun);
        expect(new Set(later)).toEqual(new Set(["completed"]));
      }
    },
  );

  it.each(ISOLATIONS)(
    "mysqlTransactions processes different deliveries in parallel at isolation level %s",
    async (level) => {
      const session = `SET SESSION TRANSACTION ISOLATION LEVEL ${level}`;
      const store = mysqlTransactions({ pool: poolWith(session, 20) });
      const keys = Array.from({ length: 200 }, (_, index) => `${level} apart ${String(index)}`);
      await Promise.all(
        keys.map((key) => store.process(key, (tx) => effects.write(tx, key), RETENTION)),
      );
      for (const key of keys) expect(await effects.of(key)).toBe(1);
    },
  );

  it("mysqlTransactions keeps the writes around a statement that failed, as MySQL does", async () => {
    const store = mysqlTransactions({ pool });
    const work = async (tx: PoolConnection): Promise<void> => {
      await effects.write(tx, "saved");
      await expect(tx.query("INSERT INTO effects VALUES (NULL)")).rejects.toThrow("cannot be null");
      await tx.query("SAVEPOINT optional");
      await effects.write(tx, "saved");
      await tx.query("ROLLBACK TO SAVEPOINT optional");
    };
    expect(await store.process("saved", work, RETENTION)).toEqual(PROCESSED);
    expect(await effects.of("saved")).toBe(1);
  });

  it("mysqlTransactions does not read for the handler: its snapshot begins with its first read", async () => {
    await mysqlStore({ pool }).claim("snapshot", "a", { leaseMs: 1, ...RETENTION });
    await sleep(0.05);
    const work = async (tx: PoolConnection): Promise<void> => {
      await effects.write(pool, "committed meanwhile");
      const sql = "SELECT 1 FROM effects WHERE name = 'committed meanwhile'";
      const [rows] = await tx.query<[]>(sql);
      expect(rows).toHaveLength(1);
    };
    expect(await mysqlTransactions({ pool }).process("snapshot", work, RETENTION)).toEqual(
      PROCESSED,
    );
  });

  it("mysqlTransactions processes a key again after its retention, which counts from the end of the handler", async () => {
    const store = mysqlTransactions({ pool });
    const work = async (tx: PoolConnection): Promise<void> => {
      await effects.write(tx, "retained");
      await sleep(0.2);
    };
    expect(await store.process("retained", work, { retentionMs: 150 })).toEqual(PROCESSED);
    expect(await store.process("retained", work, RETENTION)).toEqual(COMPLETED);
    await sleep(0.2);
    expect(await store.process("retained", work, RETENTION)).toEqual(PROCESSED);
    expect(await effects.of("retained")).toBe(2);
    expect(await store.process("retained", work, RETENTION)).toEqual(COMPLETED);
  });

  it("mysqlTransactions uses any text of a key as a value, never as SQL", async () => {
    const store = mysqlTransactions({ pool });
    for (const key of ["__proto__", "constructor", "'; DROP TABLE effects; --", '"', "?", "\\'"]) {
      const work = (tx: PoolConnection) => effects.write(tx, key);
      expect(await store.process(key, work, RETENTION)).toEqual(PROCESSED);
      expect(await store.process(key, work, RETENTION)).toEqual(COMPLETED);
      expect(await effects.of(key)).toBe(1);
    }
  });

  describe("mysqlTransactions on the table of mysqlStore", () => {
    it("mysqlTransactions respects leases and completions of mysqlStore", async () => {
      const store = mysqlTransactions({ pool });
      const leases = mysqlStore({ pool });
      await leases.claim("leased", "a", { leaseMs: 60_000, ...RETENTION });
      const duplicate = await store.process("leased", mustNotRun, RETENTION);
      expect(duplicate).toMatchObject({ state: "in_flight" });
      expect(duplicate).toHaveProperty("retryAfterMs", expect.closeTo(60_000, -4));
      await leases.complete("leased", "a", RETENTION);
      expect(await store.process("leased", mustNotRun, RETENTION)).toEqual(COMPLETED);
    });

    it("mysqlTransactions reports the takeover of an ended lease, also after a failure", async () => {
      const store = mysqlTransactions({ pool });
      const leases = mysqlStore({ pool });
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
      await sleep(0.05);
      await process("forgotten");
      expect(takeovers).toEqual([false, false, false]);
      await expect(process("left", true)).rejects.toThrow("no");
      await process("left");
      expect(takeovers.slice(3)).toEqual([true, true]);
    });

    it("mysqlStore sees a key that mysqlTransactions took over as completed", async () => {
      const store = mysqlTransactions({ pool });
      const leases = mysqlStore({ pool });
      await leases.claim("ended", "a", { leaseMs: 1, ...RETENTION });
      await sleep(0.05);
      expect(await store.process("ended", (tx) => effects.write(tx, "ended"), RETENTION)).toEqual(
        PROCESSED,
      );
      expect(await leases.claim("ended", "b", { leaseMs: 1_000, ...RETENTION })).toEqual(COMPLETED);
      expect(await leases.renew("ended", "a", { leaseMs: 1_000 })).toBe(false);
    });
  });

  it("mysqlTransactions refuses anything but a pool, and an unknown option", () => {
    for (const notAPool of [undefined, {}, { getConnection: 1 }]) {
      expect(() => mysqlTransactions({ pool: notAPool as unknown as Pool })).toThrow(
        "pool must be a pool of mysql2, with the method getConnection",
      );
    }
    const misspelt = { pool, tables: "a" };
    expect(() => mysqlTransactions(misspelt)).toThrow("tables is no option");
    expect(() => mysqlTransactions({ pool, table: "a-b" })).toThrow("table must be");
  });
});
