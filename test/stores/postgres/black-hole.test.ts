import type pg from "pg";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { postgresStore, postgresTransactions } from "../../../src/stores/postgres/index.js";
import { startBlackHoleProxy, type BlackHoleProxy } from "../../support/black-hole-proxy.js";
import { describePostgres } from "../../support/postgres/postgres-describe.js";
import { mustNotRun } from "../../support/postgres/postgres-effects.js";
import { startPostgres, type PostgresServer } from "../../support/postgres/postgres-server.js";

const TIMES = { leaseMs: 30_000, retentionMs: 3_600_000 };
/** Each look moves the fake clock on by as much as it waited, and the statements give up after 12 s. */
const BEFORE_10_S = { timeout: 8_000 };
/** The limit of a store by itself, and what the server's own "too late" may take. */
const LIMIT_MS = 12_000;
/** Until then a client that has hung up keeps its place in the pool. */
const NOTICED_MS = 1_500;

describePostgres("where a network swallows what the connections of a pool carry", () => {
  let server: PostgresServer;
  let hole: BlackHoleProxy;

  beforeAll(async () => {
    server = await startPostgres();
    hole = await startBlackHoleProxy(server.port);
    await postgresStore({ pool: server.pool() }).migrate();
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  afterAll(async () => {
    await hole.close();
    await server.close();
  });

  /** A pool of `max` connections that are all swallowed. Those that it makes from now on are not. */
  async function swallowedPool(max: number): Promise<pg.Pool> {
    const pool = server.pool({ port: hole.port, max });
    const clients = await Promise.all(Array.from({ length: max }, () => pool.connect()));
    for (const client of clients) client.release();
    hole.swallow();
    return pool;
  }

  it("the store's verbs reject after 12 s, and the next ones find connections", async () => {
    const pool = await swallowedPool(2);
    const store = postgresStore({ pool });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const claim = async () => store.claim("k", "a", TIMES);
    const lost = [claim(), (async () => store.complete("k", "a", TIMES))()];
    const rejections = lost.map((call) =>
      expect(call).rejects.toThrow("the statement took longer than"),
    );
    await vi.waitUntil(() => pool.idleCount === 0 && vi.getTimerCount() === 2, BEFORE_10_S);
    await vi.advanceTimersByTimeAsync(LIMIT_MS);
    await vi.advanceTimersByTimeAsync(NOTICED_MS);
    await Promise.all(rejections);
    vi.useRealTimers();
    expect(await claim()).toEqual({ state: "claimed", takeover: false });
    await store.complete("k", "a", TIMES);
    expect(await claim()).toEqual({ state: "completed" });
  });

  it("transactions reject before they call a handler, and the next ones find connections", async () => {
    const pool = await swallowedPool(1);
    const store = postgresTransactions({ pool });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const rejection = expect(store.process("t", mustNotRun, TIMES)).rejects.toThrow(
      "BEGIN took longer than",
    );
    await vi.waitUntil(() => pool.idleCount === 0 && vi.getTimerCount() === 1, BEFORE_10_S);
    await vi.advanceTimersByTimeAsync(LIMIT_MS);
    await vi.advanceTimersByTimeAsync(NOTICED_MS);
    await rejection;
    vi.useRealTimers();
    expect(await store.process("t", () => Promise.resolve(), TIMES)).toEqual({
      state: "processed",
    });
  });
});
