import type pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ConfigurationError } from "../../../src/index.js";
import { postgresStore, postgresTransactions } from "../../../src/stores/postgres/index.js";
import { describePostgres } from "../../support/postgres/postgres-describe.js";
import { startPostgres, type PostgresServer } from "../../support/postgres/postgres-server.js";

const TIMES = { leaseMs: 30_000, retentionMs: 3_600_000 };
const CLAIMED = { state: "claimed", takeover: false };

describePostgres("the PostgreSQL store", () => {
  let server: PostgresServer;
  let pool: pg.Pool;

  beforeAll(async () => {
    server = await startPostgres();
    pool = server.pool();
    await postgresStore({ pool }).migrate();
  });
  afterAll(async () => {
    await server.close();
  });

  async function rowsOf(key: string): Promise<readonly unknown[]> {
    const { rows } = await pool.query<Record<string, unknown>>(
      "SELECT key, owner, takeover FROM gateway_deliveries WHERE key = $1",
      [key],
    );
    return rows;
  }

  it.each(["read committed", "repeatable read", "serializable"])(
    "postgresStore grants one of 50 concurrent claims at isolation level %s and fails none",
    async (isolation) => {
      const options = `-c default_transaction_isolation=${isolation.replace(" ", "\\ ")}`;
      const stores = [1, 2].map(() => postgresStore({ pool: server.pool({ options, max: 25 }) }));
      for (const key of ["first", "second", "third"].map((name) => `${isolation} ${name}`)) {
        const states = await Promise.all(
          Array.from({ length: 50 }, async (_, index) => {
            const result = await stores[index % 2]?.claim(key, `owner-${index}`, TIMES);
            return result?.state;
          }),
        );
        expect(states.filter((state) => state === "claimed")).toHaveLength(1);
        expect(states.filter((state) => state === "in_flight")).toHaveLength(49);
      }
    },
  );

  it("postgresStore uses any text of a key or owner as a value, never as SQL", async () => {
    const store = postgresStore({ pool });
    const awkward = ["__proto__", "'; DROP TABLE gateway_deliveries; --", '"', "$1", "\\", "é 💥"];
    for (const text of awkward) {
      expect(await store.claim(text, text, TIMES)).toEqual(CLAIMED);
      expect(await rowsOf(text)).toEqual([{ key: text, owner: text, takeover: false }]);
      await store.release(text, text);
      expect(await rowsOf(text)).toEqual([]);
    }
  });

  it("postgresStore keeps only the key and the end of retention of a handled delivery", async () => {
    const store = postgresStore({ pool });
    await store.claim("handled", "a", TIMES);
    await store.complete("handled", "a", TIMES);
    const { rows } = await pool.query(
      `SELECT owner, lease_until, extract(epoch FROM expires_at - now())::float8 AS seconds
        FROM gateway_deliveries WHERE key = 'handled'`,
    );
    const seconds: unknown = expect.closeTo(3600, -1);
    expect(rows).toEqual([{ owner: null, lease_until: null, seconds }]);
  });

  it("postgresStore keeps a claim that never settled for its retention and no longer", async () => {
    const store = postgresStore({ pool });
    await store.claim("abandoned", "a", { leaseMs: 50, retentionMs: 3_600_000 });
    const { rows } = await pool.query(
      `SELECT extract(epoch FROM expires_at - now())::float8 AS seconds
        FROM gateway_deliveries WHERE key = 'abandoned'`,
    );
    expect(rows).toEqual([{ seconds: expect.closeTo(3600, -1) as unknown }]);
    await pool.query("SELECT pg_sleep(0.1)");
    expect(await store.claim("abandoned", "b", TIMES)).toEqual({
      state: "claimed",
      takeover: true,
    });
    await store.release("abandoned", "b");
    await pool.query("UPDATE gateway_deliveries SET expires_at = now() WHERE key = 'abandoned'");
    expect(await store.claim("abandoned", "c", TIMES)).toEqual(CLAIMED);
  });

  it("postgresStore keeps a lease that outlasts the retention", async () => {
    const store = postgresStore({ pool });
    await store.claim("renewed", "a", { leaseMs: 10_000, retentionMs: 50 });
    await store.claim("outlasting", "a", { leaseMs: 60_000, retentionMs: 50 });
    expect(await store.renew("renewed", "a", { leaseMs: 60_000 })).toBe(true);
    await pool.query("SELECT pg_sleep(0.1)");
    await store.purge();
    for (const key of ["renewed", "outlasting"]) {
      expect(await store.claim(key, "b", TIMES)).toMatchObject({ state: "in_flight" });
    }
    await pool.query("UPDATE gateway_deliveries SET expires_at = now() WHERE key = 'renewed'");
    expect(await store.renew("renewed", "a", { leaseMs: 60_000 })).toBe(true);
    expect(await store.claim("renewed", "b", TIMES)).toMatchObject({ state: "in_flight" });
  });

  it("postgresStore accepts a retention of millennia", async () => {
    const store = postgresStore({ pool });
    const retentionMs = Number.MAX_SAFE_INTEGER * 2;
    expect(await store.claim("ages", "a", { leaseMs: 1_000, retentionMs })).toEqual(CLAIMED);
    await store.complete("ages", "a", { retentionMs });
    expect(await store.claim("ages", "b", TIMES)).toEqual({ state: "completed" });
  });

  it("postgresStore reports a takeover again if its owner claims again", async () => {
    const store = postgresStore({ pool });
    await store.claim("asked twice", "a", { leaseMs: 1, retentionMs: 60_000 });
    await pool.query("SELECT pg_sleep(0.05)");
    const takeover = { state: "claimed", takeover: true };
    expect(await store.claim("asked twice", "b", TIMES)).toEqual(takeover);
    expect(await store.claim("asked twice", "b", TIMES)).toEqual(takeover);
  });

  it("postgresStore remembers a released takeover, so the next claim is a takeover too", async () => {
    const store = postgresStore({ pool });
    const takeover = { state: "claimed", takeover: true };
    await store.claim("released", "crashed", { leaseMs: 1, retentionMs: 60_000 });
    await pool.query("SELECT pg_sleep(0.05)");
    for (const owner of ["b", "c", "d"]) {
      expect(await store.claim("released", owner, TIMES)).toEqual(takeover);
      await store.release("released", "another");
      expect(await store.claim("released", "e", TIMES)).toMatchObject({ state: "in_flight" });
      await store.release("released", owner);
      expect(await store.renew("released", owner, { leaseMs: 1_000 })).toBe(false);
    }
    expect(await store.claim("released", "d", TIMES)).toEqual(takeover);
    await store.complete("released", "d", TIMES);
    await store.release("released", "d");
    expect(await store.claim("released", "e", TIMES)).toEqual({ state: "completed" });
  });

  it("postgresStore leaves nothing on the connection", async () => {
    const single = server.pool({ max: 1 });
    const store = postgresStore({ pool: single });
    await store.migrate();
    await store.claim("session", "a", TIMES);
    await store.renew("session", "a", { leaseMs: 1_000 });
    await store.complete("session", "a", { retentionMs: 1_000 });
    await store.release("session", "a");
    await store.purge();
    const { rows } = await single.query(
      `SELECT (SELECT count(*) FROM pg_prepared_statements)::int AS prepared,
        (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory')::int AS locks,
        (SELECT count(*) FROM pg_settings WHERE source = 'session')::int AS settings`,
    );
    expect(rows).toEqual([{ prepared: 0, locks: 0, settings: 0 }]);
  });

  it("postgresStore remembers through a crash and a restart of the server", async () => {
    const other = await startPostgres();
    try {
      const store = postgresStore({ pool: other.pool() });
      await store.migrate();
      await store.claim("done", "a", TIMES);
      await store.complete("done", "a", TIMES);
      await store.claim("running", "a", TIMES);
      for (const mode of ["crash", "orderly"] as const) {
        await other.stop(mode);
        await expect(store.claim("done", "b", TIMES)).rejects.toThrow();
        await other.start();
        expect(await store.claim("done", "b", TIMES)).toEqual({ state: "completed" });
        expect(await store.claim("running", "b", TIMES)).toMatchObject({ state: "in_flight" });
        expect(await store.renew("running", "a", TIMES)).toBe(true);
      }
    } finally {
      await other.close();
    }
  });

  describe("the options of postgresStore", () => {
    it.each(
      [
        ["", "a.b.c", "a b", "1a", ".a", "a.", 'a"b', "a;b", "é", "a".repeat(64)],
        [null, 1, {}, ["a"]],
      ].flat(),
    )("postgresStore refuses the table %j", (table) => {
      expect(() => postgresStore({ pool, table: table as string })).toThrow(/^table must be/);
    });

    it("postgresStore refuses anything but a pool, and an unknown option", () => {
      for (const notAPool of [undefined, null, "postgres://", {}, { query: 1 }]) {
        expect(() => postgresStore({ pool: notAPool as unknown as pg.Pool })).toThrow(
          "pool must be a Pool of pg, with the method query",
        );
      }
      for (const nothing of [undefined, null]) {
        const options = nothing as unknown as { pool: pg.Pool };
        for (const make of [postgresStore, postgresTransactions]) {
          expect(() => make(options)).toThrow(ConfigurationError);
        }
      }
      const misspelt = { pool, tabel: "a" };
      expect(() => postgresStore(misspelt)).toThrow("tabel is no option");
    });
  });
});
