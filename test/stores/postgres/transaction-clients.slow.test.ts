import type pg from "pg";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { postgresTransactions } from "../../../src/stores/postgres/index.js";
import { deferred } from "../../support/deferred.js";
import { describePostgres } from "../../support/postgres/postgres-describe.js";
import { postgresEngine } from "../../support/postgres/postgres-engine.js";
import { startPostgres, type PostgresServer } from "../../support/postgres/postgres-server.js";
import { createEffects, mustNotRun, type Effects } from "../../support/stores/sql-engine.js";

const RETENTION = { retentionMs: 3_600_000 };
const PROCESSED = { state: "processed" };

describePostgres("the clients of postgresTransactions", () => {
  let server: PostgresServer;
  let effects: Effects;

  beforeAll(async () => {
    server = await startPostgres();
    const pool = server.pool();
    await postgresTransactions({ pool }).migrate();
    effects = await createEffects(postgresEngine, pool);
  });
  afterAll(async () => {
    await server.close();
  });

  it("postgresTransactions releases each client once, unchanged, however the transaction ends", async () => {
    const pool = server.pool({ max: 1 });
    const store = postgresTransactions({ pool });
    const counts = { acquire: 0, release: 0, remove: 0 };
    pool.on("acquire", () => (counts.acquire += 1));
    pool.on("release", () => (counts.release += 1));
    pool.on("remove", () => (counts.remove += 1));
    const listeners: number[] = [];
    const noted = (tx: pg.PoolClient) => {
      listeners.push(tx.listenerCount("error"));
      return Promise.resolve();
    };
    await store.process("ok", noted, RETENTION);
    await store.process("ok", noted, RETENTION);
    const failing = (tx: pg.PoolClient) => noted(tx).then(() => Promise.reject(new Error("no")));
    await expect(store.process("fails", failing, RETENTION)).rejects.toThrow("no");
    const unfinished = (tx: pg.PoolClient) => tx.query("SELECT 1 / 0").then(() => undefined);
    await expect(store.process("fails", unfinished, RETENTION)).rejects.toThrow("division");
    await store.process("last", noted, RETENTION);
    expect(counts).toEqual({ acquire: 5, release: 5, remove: 0 });
    expect(new Set(listeners)).toEqual(new Set([1]));
    const { rows } = await pool.query(
      `SELECT (SELECT count(*) FROM pg_prepared_statements)::int AS prepared,
        (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory')::int AS locks,
        (SELECT count(*) FROM pg_settings WHERE source = 'session')::int AS settings`,
    );
    expect(rows).toEqual([{ prepared: 0, locks: 0, settings: 0 }]);
  });

  it("postgresTransactions waits for a free client, and loses nothing if none gets free", async () => {
    const pool = server.pool({ max: 1, connectionTimeoutMillis: 200 });
    const store = postgresTransactions({ pool });
    const end = deferred();
    const first = store.process("first", () => end.promise, RETENTION);
    const inVain = store.process("second", mustNotRun, RETENTION);
    await expect(inVain).rejects.toThrow("timeout exceeded when trying to connect");
    const waiting = store.process("third", (tx) => effects.write(tx, "third"), RETENTION);
    end.resolve();
    expect(await first).toEqual(PROCESSED);
    expect(await waiting).toEqual(PROCESSED);
    expect(await effects.of("third")).toBe(1);
    expect(await effects.remembered("second")).toBe(0);
    expect(await store.process("second", () => Promise.resolve(), RETENTION)).toEqual(PROCESSED);
  });

  it("postgresTransactions releases a client that arrives too late", async () => {
    const pool = server.pool({ max: 1 });
    const pending = deferred<pg.PoolClient>();
    const client = await pool.connect();
    const slow = {
      query: (text: string, values?: unknown[]) => pool.query(text, values),
      connect: () => pending.promise,
    };
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const store = postgresTransactions({ pool: slow });
      const late = store.process("late", mustNotRun, RETENTION);
      const rejection = expect(late).rejects.toThrow("pool.connect took longer than 10000 ms");
      await vi.advanceTimersByTimeAsync(10_000);
      await rejection;
    } finally {
      vi.useRealTimers();
    }
    pending.resolve(client);
    await expect.poll(() => pool.idleCount).toBe(1);
  });

  it("postgresTransactions calls no handler if the table is missing or read-only", async () => {
    const missing = postgresTransactions({ pool: server.pool(), table: "missing" });
    await expect(missing.process("k", mustNotRun, RETENTION)).rejects.toHaveProperty(
      "code",
      "42P01",
    );
    const options = "-c default_transaction_read_only=on";
    const readOnly = postgresTransactions({ pool: server.pool({ options }) });
    await expect(readOnly.process("k", mustNotRun, RETENTION)).rejects.toHaveProperty(
      "code",
      "25006",
    );
  });
});
