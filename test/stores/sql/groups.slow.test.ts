import { beforeAll, expect, it } from "vitest";
import type { DeliveryStore } from "../../../src/index.js";
import { alarmReceiver } from "../../support/alarm-receiver.js";
import { startBlackHoleProxy } from "../../support/black-hole-proxy.js";
import { databaseOf, keysOf } from "../../support/stores/sql-engine.js";
import { describeSql } from "../../support/stores/sql-engines.js";
import { CLAIMED, COMPLETED, TIMES } from "../../support/stores/store-cases.js";

const IN_FLIGHT = { state: "in_flight" };

/** A key that an engine refuses, and properties of its error. */
interface Poison {
  readonly why: string;
  readonly key: string;
  readonly reason: object;
}

const POISONS: Readonly<Record<"MySQL" | "PostgreSQL", readonly Poison[]>> = {
  MySQL: [{ why: "MySQL cannot store", key: "x".repeat(256), reason: { name: "RangeError" } }],
  PostgreSQL: [
    { why: "the server refuses", key: "poison", reason: { code: "23514" } },
    { why: "PostgreSQL cannot store", key: "poison \0", reason: { name: "TypeError" } },
  ],
};

describeSql("calls to one store at the same time", (engine) => {
  const isMysql = engine.name === "MySQL";
  const db = databaseOf(engine);

  beforeAll(async () => {
    if (isMysql) return;
    await db.pool.query("ALTER TABLE gateway_deliveries ADD CHECK (key <> 'poison')");
  });

  /** A store with connections of its own. */
  const makeStore = (): DeliveryStore => engine.makeStore(db.server.pool());

  /** Locks rows of keys, which are not in the table, until the returned function is called. */
  async function lock(keys: readonly string[]): Promise<() => Promise<void>> {
    const stranger = await engine.connect(db.pool);
    await stranger.query("BEGIN");
    const sql = `INSERT INTO gateway_deliveries (${engine.key}, expires_at) VALUES (?, ${engine.past})`;
    for (const key of keys) await engine.rows(stranger, sql, [key]);
    return async () => {
      await stranger.query("ROLLBACK");
      stranger.release();
    };
  }

  /** How many deadlocks the server has ended. */
  const deadlocks = async () => {
    const [row] = await engine.rows(
      db.pool,
      isMysql
        ? "SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'"
        : 'SELECT sum(deadlocks) AS "Value" FROM pg_stat_database',
    );
    return Number(row?.["Value"]);
  };

  it.each(POISONS[engine.name])(
    "a key that $why fails alone",
    async ({ why, key: poison, reason }) => {
      const store = makeStore();
      const keys = keysOf(`near ${why}`, 20);
      for (const verb of ["claim", "complete"] as const) {
        const calls = [keys[0], poison, ...keys.slice(1)].map(async (key = "") =>
          store[verb](key, key.slice(0, 20), TIMES),
        );
        const [first, failed, ...others] = await Promise.allSettled(calls);
        expect(failed).toMatchObject({ status: "rejected", reason });
        const value = verb === "claim" ? CLAIMED : undefined;
        expect([first, ...others]).toEqual(keys.map(() => ({ status: "fulfilled", value })));
      }
      expect(await store.claim(keys[5] ?? "", "b", TIMES)).toEqual(COMPLETED);
    },
  );

  it("opposite orders of keys in two processes cause no deadlock", async () => {
    const stores = [1, 2].map(() => makeStore());
    for (let round = 0; round < 20; round += 1) {
      const keys = keysOf(`order-${String(round)}`, 60);
      const inOrders = <T>(call: (store: DeliveryStore, key: string, index: number) => T): T[] =>
        stores.flatMap((store, index) =>
          (index === 0 ? keys : [...keys].reverse()).map((key) => call(store, key, index)),
        );
      const states = await Promise.all(
        inOrders(async (store, key, index) => {
          return (await store.claim(key, `${key}/${String(index)}`, TIMES)).state;
        }),
      );
      expect(states.filter((state) => state === "claimed")).toHaveLength(keys.length);
      await Promise.all(inOrders(async (store, key) => store.complete(key, key, TIMES)));
    }
    expect(await deadlocks()).toBe(0);
  });

  it.each(["claim", "complete"] as const)(
    "a locked row delays only calls for its own key: %s",
    async (verb) => {
      const store = makeStore();
      const [held = "", ...others] = keysOf(`held-${verb}`, 50);
      const unlock = await lock([held]);
      let isHeld = true;
      // Not the first call of the turn, which is sent alone.
      const calls = others.map(async (key) => store[verb](key, key, TIMES));
      const waiting = (async () => store[verb](held, held, TIMES))();
      void waiting.then(() => (isHeld = false));
      await Promise.all(calls);
      const copy = (async () => store[verb](held, "copy", TIMES))();
      await store[verb](`${held} later`, "a", TIMES);
      expect(isHeld).toBe(true);
      await unlock();
      expect(await waiting).toEqual(verb === "claim" ? CLAIMED : undefined);
      if (verb === "claim") expect(await copy).toMatchObject(IN_FLIGHT);
      else expect(await store.claim(held, "late", TIMES)).toEqual(COMPLETED);
    },
  );

  it("each call of a group keeps its own lease and retention", async () => {
    const store = makeStore();
    const SHORT = { leaseMs: 10_000, retentionMs: 300_000_000 };
    const LONG = { leaseMs: 90_000, retentionMs: 900_000_000 };
    const timesAt = (index: number) => (index % 2 === 0 ? SHORT : LONG);
    const ids = keysOf("own-times", 20);
    await Promise.all(ids.map(async (key, index) => store.claim(key, "a", timesAt(index))));
    const timesOf = async (key: string) => {
      const lease = await engine.secondsLeft(db.pool, "lease_until", key);
      const kept = await engine.secondsLeft(db.pool, "expires_at", key);
      return {
        leaseMs: Number.isNaN(lease) ? null : Math.ceil(lease / 10) * 10_000,
        retentionMs: Math.ceil(kept / 1_000) * 1_000_000,
      };
    };
    const rounded = async () => Promise.all(ids.map(timesOf));
    expect(await rounded()).toEqual(ids.map((_, index) => timesAt(index)));
    await Promise.all(ids.map(async (key, index) => store.complete(key, "", timesAt(index + 1))));
    expect(await rounded()).toEqual(
      ids.map((_, index) => ({ leaseMs: null, retentionMs: timesAt(index + 1).retentionMs })),
    );
  });

  if (isMysql) {
    it("100 claims take two statements, and so do their completions", async () => {
      let written = 0;
      const pool = engine.watched(db.server.pool(), (sql) => {
        if (/INSERT|UPDATE/.test(sql)) written += 1;
        return undefined;
      });
      const store = engine.makeStore(pool);
      let keys: readonly string[] = [];
      let counts: readonly number[] = [];
      // On a busy server a deadlock may undo a group. Its calls then run alone, and another round shows groups.
      for (let round = 0; round < 3 && String(counts) !== "2,4"; round += 1) {
        keys = keysOf(`hundred-${String(round)}`, 100);
        written = 0;
        const claims = await Promise.all(keys.map(async (key) => store.claim(key, key, TIMES)));
        expect(claims).toEqual(keys.map(() => CLAIMED));
        const claimed = written;
        await Promise.all(keys.map(async (key) => store.complete(key, key, TIMES)));
        counts = [claimed, written];
      }
      expect(counts).toEqual([2, 4]);
      const again = await Promise.all(keys.map(async (key) => store.claim(key, "b", TIMES)));
      expect(again).toEqual(keys.map(() => ({ state: "completed" })));
    });
    return;
  }

  it("claims of a group whose answer is lost reject, and can be released", async () => {
    const hole = await startBlackHoleProxy(db.server.port);
    try {
      const pool = db.server.pool({ port: hole.port });
      // The claims find open connections, so that the time limit is for the statements alone.
      await Promise.all([pool.query("SELECT 1"), pool.query("SELECT 1")]);
      const store = engine.makeStore(pool);
      alarmReceiver(() => undefined, { store, dependencyTimeoutMs: 1000 });
      const keys = keysOf("lost", 10);
      const lost = hole.loseAnswerTo("FROM unnest");
      const calls = keys.map(async (key) => store.claim(key, key, TIMES));
      const [results] = await Promise.all([Promise.allSettled(calls), lost]);
      const granted = keys.filter((_, index) => results[index]?.status === "fulfilled");
      // The first call is alone, and the others are the group.
      expect(granted.length).toBeLessThanOrEqual(1);
      const held = async () => {
        const sql =
          "SELECT key FROM gateway_deliveries WHERE key LIKE 'lost-%' AND owner IS NOT NULL";
        return (await engine.rows(db.pool, sql)).map(({ key }) => String(key)).sort();
      };
      expect(await held()).toEqual(keys.toSorted());
      const lostKeys = keys.filter((key) => !granted.includes(key));
      await Promise.all(lostKeys.map(async (key) => store.release(key, key)));
      expect(await held()).toEqual(granted);
    } finally {
      await hole.close();
    }
  });
});
