import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../../../src/index.js";
import { databaseOf, type PoolSettings, type Sql } from "../../support/stores/sql-engine.js";
import { describeSql } from "../../support/stores/sql-engines.js";

const TIMES = { leaseMs: 30_000, retentionMs: 3_600_000 };
const CLAIMED = { state: "claimed", takeover: false };
const TAKEN_OVER = { state: "claimed", takeover: true };
const IN_FLIGHT = { state: "in_flight" };
const COMPLETED = { state: "completed" };

describeSql("the store", (engine) => {
  const db = databaseOf(engine);
  const name = engine.store;

  it.each<[string, PoolSettings]>([
    ...engine.isolations.map((isolation): [string, PoolSettings] => [isolation, { isolation }]),
    ...engine.oddSessions.map((session): [string, PoolSettings] => [session, { session }]),
  ])(`${name} grants one of 50 concurrent claims with %s and fails none`, async (how, settings) => {
    const stores = [1, 2].map(() => engine.makeStore(db.server.pool({ ...settings, max: 25 })));
    for (const key of ["first", "second", "third"].map((one) => `${how} ${one}`)) {
      const states = await Promise.all(
        Array.from({ length: 50 }, async (_, index) => {
          const result = await stores[index % 2]?.claim(key, `owner-${index}`, TIMES);
          return result?.state;
        }),
      );
      expect(states.filter((state) => state === "claimed")).toHaveLength(1);
      expect(states.filter((state) => state === "in_flight")).toHaveLength(49);
    }
  });

  it(`${name} uses any text of a key or owner as a value, never as SQL`, async () => {
    const store = engine.makeStore(db.pool);
    const awkward = ["__proto__", "'; DROP TABLE gateway_deliveries; --", '"', "?", "$1", ":a"];
    for (const text of [...awkward, "\\", "é 💥"]) {
      const select = `SELECT owner FROM gateway_deliveries WHERE ${engine.key} = ?`;
      const owners = async () =>
        (await engine.rows(db.pool, select, [text])).map(({ owner }) => String(owner));
      expect(await store.claim(text, text, TIMES)).toEqual(CLAIMED);
      expect(await owners()).toEqual([text]);
      expect(await store.claim(text, "other", TIMES)).toMatchObject(IN_FLIGHT);
      await store.release(text, text);
      expect(await owners()).toEqual([]);
      expect(await store.claim(text, "other", TIMES)).toEqual(CLAIMED);
    }
  });

  it(`${name} keeps a lease that outlasts the retention`, async () => {
    const store = engine.makeStore(db.pool);
    await store.claim("renewed", "a", { leaseMs: 10_000, retentionMs: 50 });
    await store.claim("outlasting", "a", { leaseMs: 60_000, retentionMs: 50 });
    expect(await store.renew("renewed", "a", { leaseMs: 60_000 })).toBe(true);
    await engine.sleep(db.pool, 0.1);
    await store.purge();
    for (const key of ["renewed", "outlasting"]) {
      expect(await store.claim(key, "b", TIMES)).toMatchObject(IN_FLIGHT);
    }
    const expire = `UPDATE gateway_deliveries SET expires_at = ${engine.past}`;
    await db.pool.query(`${expire} WHERE ${engine.key} = 'renewed'`);
    expect(await store.renew("renewed", "a", { leaseMs: 60_000 })).toBe(true);
    expect(await store.claim("renewed", "b", TIMES)).toMatchObject(IN_FLIGHT);
  });

  it(`${name} accepts a retention of millennia`, async () => {
    const store = engine.makeStore(db.pool);
    const retentionMs = Number.MAX_SAFE_INTEGER * 2;
    expect(await store.claim("ages", "a", { leaseMs: 1_000, retentionMs })).toEqual(CLAIMED);
    await store.complete("ages", "a", { retentionMs });
    expect(await store.claim("ages", "b", TIMES)).toEqual(COMPLETED);
  });

  it(`${name} remembers a released takeover, so the next claim is a takeover too`, async () => {
    const store = engine.makeStore(db.pool);
    await store.claim("released", "crashed", { leaseMs: 1, retentionMs: 60_000 });
    await engine.sleep(db.pool, 0.05);
    for (const owner of ["b", "c", "d"]) {
      expect(await store.claim("released", owner, TIMES)).toEqual(TAKEN_OVER);
      await store.release("released", "another");
      expect(await store.claim("released", "e", TIMES)).toMatchObject(IN_FLIGHT);
      await store.release("released", owner);
      expect(await store.renew("released", owner, { leaseMs: 1_000 })).toBe(false);
    }
    expect(await store.claim("released", "d", TIMES)).toEqual(TAKEN_OVER);
    await store.complete("released", "d", TIMES);
    await store.release("released", "d");
    expect(await store.claim("released", "e", TIMES)).toEqual(COMPLETED);
  });

  it(`${name} leaves nothing on the connection`, async () => {
    const single = db.server.pool({ max: 1 });
    const store = engine.makeStore(single);
    const before = await engine.sessionState(single);
    await store.migrate();
    await store.claim("session", "a", TIMES);
    await store.renew("session", "a", { leaseMs: 1_000 });
    await store.complete("session", "a", { retentionMs: 1_000 });
    await store.release("session", "a");
    await store.purge();
    const transactions = engine.makeTransactions(single);
    await transactions.process("session 2", () => Promise.resolve(), TIMES);
    expect(await engine.sessionState(single)).toEqual(before);
  });

  it(`${name} remembers through a crash and a restart of the server`, async () => {
    const other = await engine.start();
    try {
      const store = engine.makeStore(other.pool());
      await store.migrate();
      await store.claim("done", "a", TIMES);
      await store.complete("done", "a", TIMES);
      await store.claim("running", "a", TIMES);
      for (const mode of ["crash", "orderly"] as const) {
        await other.stop(mode);
        await expect(store.claim("done", "b", TIMES)).rejects.toThrow();
        await other.start();
        expect(await store.claim("done", "b", TIMES)).toEqual(COMPLETED);
        expect(await store.claim("running", "b", TIMES)).toMatchObject(IN_FLIGHT);
        expect(await store.renew("running", "a", TIMES)).toBe(true);
      }
    } finally {
      await other.close();
    }
  });

  describe(`the options of ${name}`, () => {
    const tooLong = "a".repeat(engine.name === "MySQL" ? 65 : 64);
    const quote = engine.name === "MySQL" ? "a`b" : 'a"b';
    it.each(
      [
        ["", "a.b.c", "a b", "1a", ".a", "a.", quote, "a;b", "é", tooLong],
        [null, 1, {}, ["a"]],
      ].flat(),
    )(`${name} refuses the table %j`, (table) => {
      const options = { table: table as string };
      expect(() => engine.makeStore(db.pool, options)).toThrow(/^table must be/);
    });

    it(`${name} refuses anything but a pool, and an unknown option`, () => {
      for (const notAPool of [undefined, null, {}, ...engine.notPools]) {
        expect(() => engine.makeStore(notAPool as Sql)).toThrow(engine.notAPool);
      }
      for (const nothing of [undefined, null]) {
        for (const make of engine.factories) {
          expect(() => make(nothing as never)).toThrow(ConfigurationError);
        }
      }
      const misspelt: object = { tabel: "a" };
      expect(() => engine.makeStore(db.pool, misspelt)).toThrow("tabel is no option");
    });
  });

  it(`${name} keeps only the key and the end of retention of a handled delivery`, async () => {
    const store = engine.makeStore(db.pool);
    await store.claim("handled", "a", TIMES);
    await store.complete("handled", "a", TIMES);
    const select = `SELECT owner, lease_until FROM gateway_deliveries WHERE ${engine.key} = 'handled'`;
    expect(await engine.rows(db.pool, select)).toEqual([{ owner: null, lease_until: null }]);
    expect(await engine.secondsLeft(db.pool, "expires_at", "handled")).toBeCloseTo(3600, -1);
  });

  it(`${name} keeps a claim that never settled for its retention and no longer`, async () => {
    const store = engine.makeStore(db.pool);
    await store.claim("abandoned", "a", { leaseMs: 50, retentionMs: 3_600_000 });
    expect(await engine.secondsLeft(db.pool, "expires_at", "abandoned")).toBeCloseTo(3600, -1);
    await engine.sleep(db.pool, 0.1);
    expect(await store.claim("abandoned", "b", TIMES)).toEqual(TAKEN_OVER);
    await store.release("abandoned", "b");
    const expire = `UPDATE gateway_deliveries SET expires_at = ${engine.past}`;
    await db.pool.query(`${expire} WHERE ${engine.key} = 'abandoned'`);
    expect(await store.claim("abandoned", "c", TIMES)).toEqual(CLAIMED);
  });

  it(`${name} reports a takeover again if its owner claims again`, async () => {
    const store = engine.makeStore(db.pool);
    await store.claim("asked twice", "a", { leaseMs: 1, retentionMs: 60_000 });
    await engine.sleep(db.pool, 0.05);
    expect(await store.claim("asked twice", "b", TIMES)).toEqual(TAKEN_OVER);
    expect(await store.claim("asked twice", "b", TIMES)).toEqual(TAKEN_OVER);
  });
});
