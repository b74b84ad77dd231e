import type pg from "pg";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { postgresStore, postgresTransactions } from "../../../src/stores/postgres/index.js";
import { startBlackHoleProxy, type BlackHoleProxy } from "../../support/black-hole-proxy.js";
import { describePostgres } from "../../support/postgres/postgres-describe.js";
import { mustNotRun } from "../../support/postgres/postgres-effects.js";
import { startPostgres, type PostgresServer } from "../../support/postgres/postgres-server.js";

const TIMES = { leaseMs: 30_000, retentionMs: 3_600_000 };
/** Each poll advances the fake clock by its interval. Statements are given up after 12 s. */
const BEFORE_10_S = { timeout: 8_000 };
/** The limit of a store without a receiver, plus the time in which the server may answer that it ended a statement. */
const LIMIT_MS = 12_000;
/** For this long a closed client keeps its place in the pool. */
const NOTICED_MS = 1_500;

describePostgres("a network that drops every packet of a pool's connections", () => {
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

  /** A pool whose `max` open connections drop every packet. Connections that it opens later work. */
  async function swallowedPool(max: number): Promise<pg.Pool> {
    const pool = server.pool({ port: hole.port, max });
    const clients = await Promise.all(Array.from({ length: max }, () => pool.connect()));
    for (const client of clients) client.release();
    hole.swallow();
    return pool;
  }

  it("postgresStore: calls reject after 12 s on a network that drops packets, and later calls get connections", async () => {
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

  it("postgresTransactions rejects before it calls a handler on a network that drops packets, and later calls get connections", async () => {
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
