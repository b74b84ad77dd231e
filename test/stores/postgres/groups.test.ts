import type pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postgresStore } from "../../../src/stores/postgres/index.js";
import { alarmReceiver } from "../../support/alarm-receiver.js";
import { startBlackHoleProxy } from "../../support/black-hole-proxy.js";
import { delivery } from "../../support/deliveries.js";
import { describePostgres } from "../../support/postgres/postgres-describe.js";
import { startPostgres, type PostgresServer } from "../../support/postgres/postgres-server.js";

const TIMES = { leaseMs: 30_000, retentionMs: 3_600_000 };
const CLAIMED = { state: "claimed", takeover: false };
const IN_FLIGHT = { state: "in_flight" };

/** `count` keys, in descending order. */
const keysOf = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${name}-${String(999 - index)}`);

describePostgres("calls to postgresStore at the same time", () => {
  let server: PostgresServer;
  let admin: pg.Pool;

  beforeAll(async () => {
    server = await startPostgres();
    admin = server.pool();
    await postgresStore({ pool: admin }).migrate();
  });
  afterAll(async () => {
    await server.close();
  });

  /** A pool that counts the texts that its clients send. */
  function countingPool(config: pg.PoolConfig = {}) {
    const sent: string[] = [];
    const pool = server.pool(config).on("connect", (client) => {
      const query = client.query.bind(client) as (...args: unknown[]) => unknown;
      client.query = ((text: unknown, ...rest: unknown[]) => {
        sent.push(String(text));
        return query(text, ...rest);
      }) as typeof client.query;
    });
    return { pool, sent };
  }

  /** Runs `during` while another client holds the row of `key`, as yet uncommitted. */
  async function whileLocked(key: string, during: () => Promise<void>): Promise<void> {
    const stranger = await admin.connect();
    await stranger.query("BEGIN");
    await stranger.query(
      "INSERT INTO gateway_deliveries (key, expires_at) VALUES ($1, now()) ON CONFLICT (key) DO UPDATE SET expires_at = now()",
      [key],
    );
    try {
      await during();
    } finally {
      await stranger.query("ROLLBACK");
      stranger.release();
    }
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

  it.each([
    ["the server refuses", "poison", { code: "23514" }],
    ["that PostgreSQL cannot store", "poison \0", { name: "TypeError" }],
  ])("a key %s fails alone", async (_, poison, reason) => {
    const table = "poisoned";
    const { pool } = countingPool();
    const store = postgresStore({ pool, table });
    await store.migrate();
    await admin.query(
      `ALTER TABLE ${table} DROP CONSTRAINT IF EXISTS no_poison, ADD CONSTRAINT no_poison CHECK (key <> 'poison')`,
    );
    const keys = keysOf(`near ${poison.length}`, 20);
    for (const verb of ["claim", "complete"] as const) {
      const calls = [keys[0], poison, ...keys.slice(1)].map(async (key = "") =>
        store[verb](key, key, TIMES),
      );
      const [first, failed, ...others] = await Promise.allSettled(calls);
      expect(failed).toMatchObject({ status: "rejected", reason });
      const value = verb === "claim" ? CLAIMED : undefined;
      expect([first, ...others]).toEqual(keys.map(() => ({ status: "fulfilled", value })));
    }
    expect(await store.claim(keys[5] ?? "", "b", TIMES)).toEqual({ state: "completed" });
  });

  it("of two claims for one key in one turn one is granted, and both completions are done", async () => {
    const { pool } = countingPool();
    const store = postgresStore({ pool });
    const keys = keysOf("twice", 10);
    const both = [...keys, ...keys];
    const claims = await Promise.all(
      both.map(async (key, index) => store.claim(key, `owner-${String(index)}`, TIMES)),
    );
    expect(claims.slice(0, 10)).toEqual(keys.map(() => CLAIMED));
    expect(claims.slice(10)).toMatchObject(keys.map(() => IN_FLIGHT));
    await Promise.all(both.map(async (key) => store.complete(key, "a", TIMES)));
    for (const key of keys) {
      expect(await store.claim(key, "b", TIMES)).toEqual({ state: "completed" });
    }
  });

  it("two processes that send the same keys in opposite orders never wait for each other in a circle", async () => {
    const stores = [1, 2].map(() => postgresStore({ pool: server.pool({ max: 4 }) }));
    for (let round = 0; round < 30; round += 1) {
      const keys = keysOf(`order-${String(round)}`, 60);
      const states = await Promise.all(
        stores.flatMap((store, index) => {
          const own = index === 0 ? keys : [...keys].reverse();
          return own.map(async (key) => (await store.claim(key, `${key}/${index}`, TIMES)).state);
        }),
      );
      expect(states.filter((state) => state === "claimed")).toHaveLength(keys.length);
      await Promise.all(
        stores.flatMap((store, index) => {
          const own = index === 0 ? keys : [...keys].reverse();
          return own.map(async (key) => store.complete(key, key, TIMES));
        }),
      );
    }
    const { rows } = await admin.query<{ deadlocks: string }>(
      "SELECT sum(deadlocks) AS deadlocks FROM pg_stat_database",
    );
    expect(Number(rows[0]?.deadlocks)).toBe(0);
  });

  it.each(["claim", "complete"] as const)(
    "a row that another transaction holds delays only its own %s",
    async (verb) => {
      const { pool } = countingPool();
      const store = postgresStore({ pool });
      const [held = "", ...others] = keysOf(`held-${verb}`, 50);
      const copies: Promise<unknown>[] = [];
      await whileLocked(held, async () => {
        let isHeld = true;
        // Not the first call, which is sent alone.
        const calls = others.map(async (key) => store[verb](key, key, TIMES));
        const waiting = (async () => store[verb](held, held, TIMES))();
        void waiting.then(() => (isHeld = false));
        // Later calls are not delayed by the one that waits, either.
        const more = async () => store[verb](`${held} later`, "a", TIMES);
        await Promise.all(calls);
        await more();
        expect(isHeld).toBe(true);
        // The next copy of the delivery waits too, and takes no connection.
        const copy = (async () => store[verb](held, "copy", TIMES))();
        await more();
        expect(pool.totalCount - pool.idleCount).toBe(1);
        copies.push(waiting, copy);
      });
      const [first, second] = await Promise.all(copies);
      expect(first).toEqual(verb === "claim" ? CLAIMED : undefined);
      if (verb === "claim") expect(second).toMatchObject(IN_FLIGHT);
      else expect(await store.claim(held, "late", TIMES)).toEqual({ state: "completed" });
      expect(pool.idleCount).toBe(pool.totalCount);
    },
  );

  it("while five rows are locked, calls for all other rows go on", async () => {
    const store = postgresStore({ pool: server.pool() });
    const locked = keysOf("five", 5);
    const stranger = await admin.connect();
    await stranger.query("BEGIN");
    for (const key of locked) {
      await stranger.query("INSERT INTO gateway_deliveries (key, expires_at) VALUES ($1, now())", [
        key,
      ]);
    }
    const waiting = locked.map(async (key) => store.claim(key, key, TIMES));
    for (let turn = 0; turn < 5; turn += 1) {
      const keys = keysOf(`beside-five-${String(turn)}`, 40);
      const states = await Promise.all(keys.map(async (key) => store.claim(key, key, TIMES)));
      expect(states).toEqual(keys.map(() => CLAIMED));
    }
    await stranger.query("ROLLBACK");
    stranger.release();
    expect(await Promise.all(waiting)).toEqual(locked.map(() => CLAIMED));
  });

  it("each call keeps its own lease and retention, also with two receivers on one store", async () => {
    const { pool, sent } = countingPool();
    const store = postgresStore({ pool });
    const SHORT = { leaseMs: 10_000, retentionMs: 300_000_000 };
    const LONG = { leaseMs: 90_000, retentionMs: 900_000_000 };
    const receivers = [SHORT, LONG].map((times) =>
      alarmReceiver(() => new Promise(() => undefined), { ...times, store }),
    );
    const ids = keysOf("own-times", 20);
    ids.forEach((id, index) => {
      void (async () => receivers[index % 2]?.receive(await delivery({ id })))();
    });
    const read = async () => {
      const { rows } = await admin.query<{ lease: number; kept: number }>(
        `SELECT round(extract(epoch FROM lease_until - now()) / 10)::int * 10 AS lease,
            round(extract(epoch FROM expires_at - now()) / 1000)::int * 1000 AS kept
          FROM gateway_deliveries WHERE key = ANY ($1) ORDER BY key DESC`,
        [ids],
      );
      return rows;
    };
    await expect.poll(async () => (await read()).length).toBe(20);
    expect(await read()).toEqual(
      ids.map((_, index) =>
        index % 2 ? { lease: 90, kept: 900_000 } : { lease: 10, kept: 300_000 },
      ),
    );
    expect(sent.filter((text) => text.includes("unnest")).length).toBeGreaterThan(0);
    await Promise.all(
      ids.map(async (key, index) => store.complete(key, "", index % 2 ? LONG : SHORT)),
    );
    expect((await read()).map(({ kept }) => kept)).toEqual(
      ids.map((_, index) => (index % 2 ? 900_000 : 300_000)),
    );
  });

  it("claims of a group whose answer is lost reject, and each is released on its own", async () => {
    const hole = await startBlackHoleProxy(server.port);
    try {
      const pool = server.pool({ port: hole.port });
      const store = postgresStore({ pool });
      alarmReceiver(() => undefined, { store, dependencyTimeoutMs: 100 });
      const keys = keysOf("lost", 10);
      let granted: string[] = [];
      await whileLocked(keys[4] ?? "", async () => {
        const calls = keys.map(async (key) => store.claim(key, key, TIMES));
        // The group waits for the locked row now.
        await expect
          .poll(async () => (await admin.query("SELECT FROM pg_locks WHERE NOT granted")).rowCount)
          .toBeGreaterThan(0);
        hole.swallow();
        const results = await Promise.allSettled(calls);
        granted = keys.filter((_, index) => results[index]?.status === "fulfilled");
        expect(granted.length).toBeLessThan(keys.length - 1);
      });
      const held = async () => {
        const { rows } = await admin.query<{ key: string }>(
          "SELECT key FROM gateway_deliveries WHERE key LIKE 'lost-%' AND owner IS NOT NULL",
        );
        return rows.map(({ key }) => key);
      };
      await expect.poll(held, { timeout: 10_000 }).toEqual(granted);
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
      const options = { pool: admin, prepare: prepare as unknown as boolean };
      expect(() => postgresStore(options)).toThrow("prepare must be true or false");
    });
  });
});
