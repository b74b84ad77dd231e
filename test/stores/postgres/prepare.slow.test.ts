import type pg from "pg";
import { beforeEach, expect, it } from "vitest";
import { postgresStore, postgresTransactions } from "../../../src/stores/postgres/index.js";
import { postgresEngine } from "../../support/postgres/postgres-engine.js";
import {
  expectDuplicate,
  expectProcessed,
  databaseOf,
  keysOf,
  mustNotRun,
  type PoolSettings,
} from "../../support/stores/sql-engine.js";
import { TIMES, verbsOf } from "../../support/stores/store-cases.js";

const preparedOn = async (pool: pg.Pool): Promise<number> =>
  (await pool.query("SELECT FROM pg_prepared_statements")).rowCount ?? 0;

postgresEngine.describe("the statements of postgresStore", () => {
  const db = databaseOf(postgresEngine);

  /** A pool that counts the texts that its clients send. */
  function countingPool(config: PoolSettings = {}) {
    const sent: string[] = [];
    const pool = db.server.pool(config).on("connect", (client) => {
      const query = client.query.bind(client) as (...args: unknown[]) => unknown;
      client.query = ((text: unknown, ...rest: unknown[]) => {
        sent.push(String(text));
        return query(text, ...rest);
      }) as typeof client.query;
    });
    return { pool, sent };
  }

  it("a connection prepares each statement once", async () => {
    const { pool, sent } = countingPool({ max: 1 });
    const store = postgresStore({ pool, prepare: true });
    for (const name of ["one", "two", "three"]) {
      const keys = keysOf(`prepared-${name}`, 5);
      await Promise.all(keys.map(async (key) => store.claim(key, key, TIMES)));
      await Promise.all(keys.map(async (key) => store.complete(key, key, TIMES)));
    }
    // One claim, a group of claims, one completion, a group of completions.
    expect(await preparedOn(pool)).toBe(4);
    expect(sent.filter((text) => text.includes("PREPARE"))).toHaveLength(4);
    await verbsOf(store).completed("prepared-one-999", "b");
    await verbsOf(store).renewed("prepared-one-999", "b", false);
  });

  it("a call works if other code took the names on its connection", async () => {
    const { pool } = countingPool({ max: 1 });
    const store = postgresStore({ pool, prepare: true });
    await verbsOf(store).claimed("kept", "a");
    await pool.query("DEALLOCATE ALL");
    await verbsOf(store).claimed("kept too", "a");
    await verbsOf(store).claimed("kept three", "a");
    expect(await preparedOn(pool)).toBe(1);
    await verbsOf(store).inFlight("kept", "b");
  });

  it("two stores on one pool run their own statements", async () => {
    const { pool } = countingPool({ max: 1 });
    const tables = ["prepared_a", "prepared_b"];
    const stores = tables.map((table) => postgresStore({ pool, table, prepare: true }));
    for (const store of stores) {
      await store.migrate();
      await verbsOf(store).claimed("k", "a");
    }
  });
});

postgresEngine.describe("postgresTransactions with prepare", () => {
  const db = databaseOf(postgresEngine);

  /** A handler that writes one effect of `key`. */
  const writes = (key: string) => (tx: pg.PoolClient) => db.effects.write(tx, key);

  let pool: pg.Pool;

  beforeEach(() => {
    pool = db.server.pool({ max: 1 });
  });

  it("a connection prepares one statement for all deliveries", async () => {
    const store = postgresTransactions({ pool, prepare: true });
    for (const key of ["one", "two", "three"]) {
      const fails = () => Promise.reject(new Error("no"));
      await expect(store.process(key, fails, TIMES)).rejects.toThrow("no");
      await expectProcessed(store, key, writes(key));
      await expectDuplicate(store, key);
      expect(await db.effects.of(key)).toBe(1);
    }
    expect(await preparedOn(pool)).toBe(1);
  });

  it("a delivery is handled once if other code removed the statement", async () => {
    const store = postgresTransactions({ pool, prepare: true });
    await expectProcessed(store, "before", writes("before"));
    await pool.query("DEALLOCATE ALL");
    for (const key of ["removed", "after"]) {
      await expectProcessed(store, key, writes(key));
      expect(await db.effects.of(key)).toBe(1);
    }
    expect(await preparedOn(pool)).toBe(1);
  });

  it("a handler runs on no client that is inside a transaction", async () => {
    const store = postgresTransactions({ pool, prepare: true });
    await expectProcessed(store, "first", writes("first"));
    const client = await pool.connect();
    await client.query("BEGIN");
    await db.effects.write(client, "half");
    client.release();
    await expect(store.process("second", mustNotRun, TIMES)).rejects.toThrow(
      "handed out a client inside a transaction",
    );
    await expectProcessed(store, "second", writes("second"));
    expect(await db.effects.of("half")).toBe(0);
  });

  it("both stores refuse a prepare that is neither true nor false", () => {
    const options = { pool, prepare: "yes" as unknown as boolean };
    for (const make of [postgresStore, postgresTransactions]) {
      expect(() => make(options)).toThrow("prepare must be true or false");
    }
  });
});
