import type pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postgresStore, postgresTransactions } from "../../../src/stores/postgres/index.js";
import { deferred } from "../../support/deferred.js";
import { describePostgres } from "../../support/postgres/postgres-describe.js";
import {
  createEffects,
  mustNotRun,
  type Effects,
} from "../../support/postgres/postgres-effects.js";
import { startPostgres, type PostgresServer } from "../../support/postgres/postgres-server.js";

const RETENTION = { retentionMs: 3_600_000 };
const PROCESSED = { state: "processed" };
const COMPLETED = { state: "completed" };

describePostgres("postgresTransactions", () => {
  let server: PostgresServer;
  let pool: pg.Pool;
  let effects: Effects;

  beforeAll(async () => {
    server = await startPostgres();
    pool = server.pool();
    await postgresTransactions({ pool }).migrate();
    effects = await createEffects(pool);
  });
  afterAll(async () => {
    await server.close();
  });

  it("postgresTransactions commits the handler's writes and the key together, once", async () => {
    const store = postgresTransactions({ pool });
    const work = async (tx: pg.PoolClient): Promise<void> => {
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

  it("postgresTransactions rolls back if the handler throws, and rejects with the same error", async () => {
    const store = postgresTransactions({ pool });
    const anything: readonly unknown[] = [new Error("no"), "a string", undefined, null];
    for (const thrown of anything as readonly Error[]) {
      const work = async (tx: pg.PoolClient): Promise<void> => {
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
    const work = (tx: pg.PoolClient) => effects.write(tx, "failing");
    expect(await store.process("failing", work, RETENTION)).toEqual(PROCESSED);
  });

  it("postgresTransactions answers a duplicate in flight at once, and completed after the commit", async () => {
    const store = postgresTransactions({ pool });
    const other = postgresTransactions({ pool: server.pool() });
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
    // Without the advisory lock it would wait until `end`, and so would the test.
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

  it.each(["read committed", "repeatable read", "serializable"])(
    "postgresTransactions processes one of 50 concurrent duplicates at isolation level %s and fails none",
    async (isolation) => {
      const options = `-c default_transaction_isolation=${isolation.replace(" ", "\\ ")}`;
      const stores = [1, 2].map(() =>
        postgresTransactions({ pool: server.pool({ options, max: 25 }) }),
      );
      const duplicates = (key: string, work: (tx: pg.PoolClient) => Promise<void>) =>
        Promise.all(
          Array.from({ length: 50 }, async (_, index) => {
            const result = await stores[index % 2]?.process(key, work, RETENTION);
            return result?.state;
          }),
        );
      for (const key of ["1", "2", "3"].map((name) => `${isolation} ${name}`)) {
        const states = await duplicates(key, (tx) => effects.write(tx, key));
        expect(states.filter((state) => state === "processed")).toHaveLength(1);
        expect(await effects.of(key)).toBe(1);
        const later = await duplicates(key, mustNotRun);
        expect(new Set(later)).toEqual(new Set(["completed"]));
      }
    },
  );

  it("postgresTransactions processes different deliveries in parallel at isolation level serializable", async () => {
    const options = "-c default_transaction_isolation=serializable";
    const store = postgresTransactions({ pool: server.pool({ options, max: 20 }) });
    const keys = Array.from({ length: 200 }, (_, index) => `apart-${String(index)}`);
    await Promise.all(
      keys.map((key) => store.process(key, (tx) => effects.write(tx, key), RETENTION)),
    );
    for (const key of keys) expect(await effects.of(key)).toBe(1);
  });

  it("postgresTransactions keeps the rest of the writes if a handler rolls back to a savepoint", async () => {
    const store = postgresTransactions({ pool });
    const work = async (tx: pg.PoolClient): Promise<void> => {
      await effects.write(tx, "saved");
      await tx.query("SAVEPOINT optional");
      await expect(tx.query("SELECT 1 / 0")).rejects.toThrow("division by zero");
      await tx.query("ROLLBACK TO SAVEPOINT optional");
    };
    expect(await store.process("saved", work, RETENTION)).toEqual(PROCESSED);
    expect(await effects.of("saved")).toBe(1);
  });

  it("postgresTransactions processes a key again after its retention", async () => {
    const store = postgresTransactions({ pool });
    const work = (tx: pg.PoolClient) => effects.write(tx, "retained");
    expect(await store.process("retained", work, { retentionMs: 50 })).toEqual(PROCESSED);
    await pool.query("SELECT pg_sleep(0.1)");
    expect(await store.process("retained", work, RETENTION)).toEqual(PROCESSED);
    expect(await effects.of("retained")).toBe(2);
    expect(await store.process("retained", work, RETENTION)).toEqual(COMPLETED);
    const { rows } = await pool.query(
      `SELECT extract(epoch FROM expires_at - now())::float8 AS seconds
        FROM gateway_deliveries WHERE key = 'retained'`,
    );
    expect(rows).toEqual([{ seconds: expect.closeTo(3600, -1) as unknown }]);
  });

  it("postgresTransactions uses any text of a key as a value, never as SQL", async () => {
    const store = postgresTransactions({ pool });
    for (const key of ["__proto__", "constructor", "'; DROP TABLE effects; --", '"', "$1"]) {
      const work = (tx: pg.PoolClient) => effects.write(tx, key);
      expect(await store.process(key, work, RETENTION)).toEqual(PROCESSED);
      expect(await store.process(key, work, RETENTION)).toEqual(COMPLETED);
      expect(await effects.of(key)).toBe(1);
    }
  });

  describe("postgresTransactions on the table of postgresStore", () => {
    it("postgresTransactions respects leases and completions of postgresStore", async () => {
      const store = postgresTransactions({ pool });
      const leases = postgresStore({ pool });
      await leases.claim("leased", "a", { leaseMs: 60_000, ...RETENTION });
      const duplicate = await store.process("leased", mustNotRun, RETENTION);
      expect(duplicate).toMatchObject({ state: "in_flight" });
      expect(duplicate).toHaveProperty("retryAfterMs", expect.closeTo(60_000, -4));
      await leases.complete("leased", "a", RETENTION);
      expect(await store.process("leased", mustNotRun, RETENTION)).toEqual(COMPLETED);
    });

    it("postgresTransactions reports the takeover of an ended lease, also after a failure", async () => {
      const store = postgresTransactions({ pool });
      const leases = postgresStore({ pool });
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
      await pool.query("SELECT pg_sleep(0.05)");
      await process("forgotten");
      expect(takeovers).toEqual([false, false, false]);
      await expect(process("left", true)).rejects.toThrow("no");
      await process("left");
      expect(takeovers.slice(3)).toEqual([true, true]);
    });

    it("postgresStore sees a key that postgresTransactions took over as completed", async () => {
      const store = postgresTransactions({ pool });
      const leases = postgresStore({ pool });
      await leases.claim("ended", "a", { leaseMs: 1, ...RETENTION });
      await pool.query("SELECT pg_sleep(0.05)");
      expect(await store.process("ended", (tx) => effects.write(tx, "ended"), RETENTION)).toEqual(
        PROCESSED,
      );
      expect(await leases.claim("ended", "b", { leaseMs: 1_000, ...RETENTION })).toEqual(COMPLETED);
      expect(await leases.renew("ended", "a", { leaseMs: 1_000 })).toBe(false);
    });
  });

  it("postgresTransactions refuses anything but a pool, and an unknown option", () => {
    for (const notAPool of [undefined, {}]) {
      expect(() => postgresTransactions({ pool: notAPool as unknown as pg.Pool })).toThrow(
        "pool must be a Pool of pg, with the method query",
      );
    }
    const misspelt = { pool, tables: "a" };
    expect(() => postgresTransactions(misspelt)).toThrow("tables is no option");
    expect(() => postgresTransactions({ pool, table: "a-b" })).toThrow("table must be");
  });
});
