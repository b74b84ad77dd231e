import type pg from "pg";
import { describe, expect, it } from "vitest";
import { postgresStore } from "../../../src/stores/postgres/index.js";
import { alarmReceiver } from "../../support/alarm-receiver.js";
import { startBlackHoleProxy } from "../../support/black-hole-proxy.js";
import { describePostgres } from "../../support/postgres/postgres-describe.js";
import { postgresEngine } from "../../support/postgres/postgres-engine.js";
import { keysOf } from "../../support/stores/grouped-keys.js";
import { databaseOf, type PoolSettings } from "../../support/stores/sql-engine.js";

const TIMES = { leaseMs: 30_000, retentionMs: 3_600_000 };
const CLAIMED = { state: "claimed", takeover: false };
const IN_FLIGHT = { state: "in_flight" };

describePostgres("calls to postgresStore at the same time", () => {
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

  it("100 claims take two statements, and so do their completions", async () => {
    const { pool, sent } = countingPool();
    const store = postgresStore({ pool });
    const keys = keysOf("hundred", 100);
    const claims = await Promise.all(keys.map(async (key) => store.claim(key, key, TIMES)));
    expect(claims).toEqual(keys.map(() => CLAIMED));
    expect(sent).toHaveLength(2);
    await Promise.all(keys.map(async (key) => store.complete(key, key, TIMES)));
    expect(sent).toHaveLength(4);
    const again = await Promise.all(keys.map(async (key) => store.claim(key, "b", TIMES)));
    expect(again).toEqual(keys.map(() => ({ state: "completed" })));
    // The refused claims also read why.
    expect(sent).toHaveLength(8);
  });

  it("claims of a group whose answer is lost reject, and the owner of each can release it", async () => {
    const hole = await startBlackHoleProxy(db.server.port);
    try {
      const pool = db.server.pool({ port: hole.port });
      // The claims find open connections, so that the time limit is for the statements alone.
      await Promise.all([pool.query("SELECT 1"), pool.query("SELECT 1")]);
      const store = postgresStore({ pool });
      alarmReceiver(() => undefined, { store, dependencyTimeoutMs: 1000 });
      const keys = keysOf("lost", 10);
      const lost = hole.loseAnswerTo("FROM unnest");
      const calls = keys.map(async (key) => store.claim(key, key, TIMES));
      const [results] = await Promise.all([Promise.allSettled(calls), lost]);
      const granted = keys.filter((_, index) => results[index]?.status === "fulfilled");
      // The first call is alone, and the others are the group.
      expect(granted.length).toBeLessThanOrEqual(1);
      const held = async () => {
        const { rows } = await db.pool.query<{ key: string }>(
          "SELECT key FROM gateway_deliveries WHERE key LIKE 'lost-%' AND owner IS NOT NULL",
        );
        return rows.map(({ key }) => key).sort();
      };
      expect(await held()).toEqual(keys.toSorted());
      const lostKeys = keys.filter((key) => !granted.includes(key));
      await Promise.all(lostKeys.map(async (key) => store.release(key, key)));
      expect(await held()).toEqual(granted);
    } finally {
      await hole.close();
    }
  });

  describe("with prepare", () => {
    const prepared = async (pool: pg.Pool): Promise<number> => {
      const { rows } = await pool.query<{ count: number }>(
        "SELECT count(*)::int AS count FROM pg_prepared_statements",
      );
      return rows[0]?.count ?? 0;
    };

    it("a connection prepares each statement once", async () => {
      const { pool, sent } = countingPool({ max: 1 });
      const store = postgresStore({ pool, prepare: true });
      for (const name of ["one", "two", "three"]) {
        const keys = keysOf(`prepared-${name}`, 5);
        await Promise.all(keys.map(async (key) => store.claim(key, key, TIMES)));
        await Promise.all(keys.map(async (key) => store.complete(key, key, TIMES)));
      }
      // One claim, a group of claims, one completion, a group of completions.
      expect(await prepared(pool)).toBe(4);
      expect(sent.filter((text) => text.includes("PREPARE"))).toHaveLength(4);
      expect(await store.claim("prepared-one-999", "b", TIMES)).toEqual({ state: "completed" });
      expect(await store.renew("prepared-one-999", "b", TIMES)).toBe(false);
    });

    it("a call works if other code has removed or taken the names on its connection", async () => {
      const { pool } = countingPool({ max: 1 });
      const store = postgresStore({ pool, prepare: true });
      expect(await store.claim("kept", "a", TIMES)).toEqual(CLAIMED);
      await pool.query("DEALLOCATE ALL");
      expect(await store.claim("kept too", "a", TIMES)).toEqual(CLAIMED);
      expect(await store.claim("kept three", "a", TIMES)).toEqual(CLAIMED);
      expect(await prepared(pool)).toBe(1);
      expect(await store.claim("kept", "b", TIMES)).toMatchObject(IN_FLIGHT);
    });

    it("two stores on one pool run their own statements", async () => {
      const { pool } = countingPool({ max: 1 });
      const tables = ["prepared_a", "prepared_b"];
      const stores = tables.map((table) => postgresStore({ pool, table, prepare: true }));
      for (const store of stores) {
        await store.migrate();
        expect(await store.claim("k", "a", TIMES)).toEqual(CLAIMED);
      }
    });

    it.each([1, "yes", null])("postgresStore refuses prepare: %j", (prepare) => {
      const options = { pool: db.pool, prepare: prepare as unknown as boolean };
      expect(() => postgresStore(options)).toThrow("prepare must be true or false");
    });
  });
});
