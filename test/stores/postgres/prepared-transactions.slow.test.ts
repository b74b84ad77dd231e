import type pg from "pg";
import { beforeEach, expect, it } from "vitest";
import { postgresTransactions } from "../../../src/stores/postgres/index.js";
import { describePgBouncer, startPgBouncer } from "../../support/postgres/pgbouncer.js";
import { describePostgres } from "../../support/postgres/postgres-describe.js";
import { postgresEngine } from "../../support/postgres/postgres-engine.js";
import { databaseOf, mustNotRun } from "../../support/stores/sql-engine.js";
import { startedForAll } from "../../support/started-for-all.js";

const RETENTION = { retentionMs: 3_600_000 };
const PROCESSED = { state: "processed" };
const COMPLETED = { state: "completed" };

describePostgres("postgresTransactions with prepare", () => {
  const db = databaseOf(postgresEngine);

  /** A handler that writes one effect of `key`. */
  const writes = (key: string) => (tx: pg.PoolClient) => db.effects.write(tx, key);

  let pool: pg.Pool;

  beforeEach(() => {
    pool = db.server.pool({ max: 1 });
  });

  const preparedOn = async (): Promise<number> =>
    (await pool.query("SELECT FROM pg_prepared_statements")).rowCount ?? 0;

  it("a connection prepares one statement for all deliveries, also if one fails", async () => {
    const store = postgresTransactions({ pool, prepare: true });
    for (const key of ["one", "two", "three"]) {
      const fails = () => Promise.reject(new Error("no"));
      await expect(store.process(key, fails, RETENTION)).rejects.toThrow("no");
      expect(await store.process(key, writes(key), RETENTION)).toEqual(PROCESSED);
      expect(await store.process(key, mustNotRun, RETENTION)).toEqual(COMPLETED);
      expect(await db.effects.of(key)).toBe(1);
    }
    expect(await preparedOn()).toBe(1);
  });

  it("a delivery is handled once if other code has removed the statement", async () => {
    const store = postgresTransactions({ pool, prepare: true });
    expect(await store.process("before", writes("before"), RETENTION)).toEqual(PROCESSED);
    await pool.query("DEALLOCATE ALL");
    for (const key of ["removed", "after"]) {
      expect(await store.process(key, writes(key), RETENTION)).toEqual(PROCESSED);
      expect(await db.effects.of(key)).toBe(1);
    }
    expect(await preparedOn()).toBe(1);
  });

  it("a handler runs on no client that other code has left inside a transaction", async () => {
    const store = postgresTransactions({ pool, prepare: true });
    expect(await store.process("first", writes("first"), RETENTION)).toEqual(PROCESSED);
    const client = await pool.connect();
    await client.query("BEGIN");
    await db.effects.write(client, "half");
    client.release();
    await expect(store.process("second", mustNotRun, RETENTION)).rejects.toThrow(
      "handed out a client inside a transaction",
    );
    expect(await store.process("second", writes("second"), RETENTION)).toEqual(PROCESSED);
    expect(await db.effects.of("half")).toBe(0);
  });

  it.each([1, "yes", null])("postgresTransactions refuses prepare: %j", (prepare) => {
    const options = { pool, prepare: prepare as unknown as boolean };
    expect(() => postgresTransactions(options)).toThrow("prepare must be true or false");
  });

  describePgBouncer("through PgBouncer", () => {
    const bouncer = startedForAll(() => startPgBouncer(db.server.port, 3));

    it("each of 100 deliveries is handled once, though a transaction meets any server connection", async () => {
      const stores = [1, 2].map(() =>
        postgresTransactions({ pool: bouncer().pool({ max: 10 }), prepare: true }),
      );
      const keys = Array.from({ length: 100 }, (_, index) => `pooled-${index}`);
      const states = await Promise.all(
        keys.flatMap((key) =>
          stores.map(async (store) => (await store.process(key, writes(key), RETENTION)).state),
        ),
      );
      expect(states.filter((state) => state === "processed")).toHaveLength(100);
      for (const key of keys) expect(await db.effects.of(key)).toBe(1);
    });
  });
});
