import type { Pool, PoolConnection } from "mysql2/promise";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { mysqlStore, mysqlTransactions } from "../../../src/stores/mysql/index.js";
import { startBlackHoleProxy, type BlackHoleProxy } from "../../support/black-hole-proxy.js";
import { describeMysql } from "../../support/mysql/mysql-describe.js";
import { createEffects, mustNotRun, type Effects } from "../../support/mysql/mysql-effects.js";
import { startMysql, type MysqlServer } from "../../support/mysql/mysql-server.js";

const TIMES = { leaseMs: 30_000, retentionMs: 3_600_000 };
/** Each poll advances the fake clock by its interval. Statements are given up after 12 s. */
const BEFORE_10_S = { timeout: 8_000 };
/** The limit of a store without a receiver, plus the time in which the server may answer that it ended a statement. */
const LIMIT_MS = 12_000;

describeMysql("a network that drops every packet of a MySQL pool's connections", () => {
  let server: MysqlServer;
  let hole: BlackHoleProxy;
  let effects: Effects;

  beforeAll(async () => {
    server = await startMysql();
    hole = await startBlackHoleProxy(server.port);
    await mysqlStore({ pool: server.pool() }).migrate();
    effects = await createEffects(server.pool());
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  afterAll(async () => {
    await hole.close();
    await server.close();
  });

  /** A pool whose open connections drop every packet. Connections that it opens later work. */
  async function swallowedPool(connectionLimit: number): Promise<Pool> {
    const pool = server.pool({ port: hole.port, connectionLimit });
    const connections = await Promise.all(
      Array.from({ length: connectionLimit }, () => pool.getConnection()),
    );
    for (const connection of connections) connection.release();
    hole.swallow();
    return pool;
  }

  it("mysqlStore: calls reject after 12 s on a network that drops packets, and later calls get connections", async () => {
    const pool = await swallowedPool(2);
    const store = mysqlStore({ pool });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const claim = async () => store.claim("k", "a", TIMES);
    const lost = [claim(), (async () => store.complete("k", "a", TIMES))()];
    const rejections = lost.map((call) =>
      expect(call).rejects.toMatchObject({ name: "LostAnswerError", code: "lost_answer" }),
    );
    await vi.waitUntil(() => vi.getTimerCount() === 2, BEFORE_10_S);
    await vi.advanceTimersByTimeAsync(LIMIT_MS);
    vi.useRealTimers();
    await Promise.all(rejections);
    expect(await claim()).toEqual({ state: "claimed", takeover: false });
    await store.complete("k", "a", TIMES);
    expect(await claim()).toEqual({ state: "completed" });
  });

  it("mysqlTransactions rejects before it calls a handler on a network that drops packets, and later calls get connections", async () => {
    const pool = await swallowedPool(1);
    const store = mysqlTransactions({ pool });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const rejection = expect(store.process("t", mustNotRun, TIMES)).rejects.toThrow(
      "DO 0 took longer than",
    );
    await vi.waitUntil(() => vi.getTimerCount() === 1, BEFORE_10_S);
    await vi.advanceTimersByTimeAsync(LIMIT_MS);
    vi.useRealTimers();
    await rejection;
    expect(await store.process("t", () => Promise.resolve(), TIMES)).toEqual({
      state: "processed",
    });
  });

  it("mysqlTransactions: a transaction whose network drops packets is ended on the server, and its redelivery is handled", async () => {
    const pool = server.pool({ port: hole.port, connectionLimit: 1 });
    const store = mysqlTransactions({ pool });
    const work = (tx: PoolConnection) => effects.write(tx, "dropped");
    const dropped = store.process(
      "dropped",
      async (tx) => {
        await work(tx);
        hole.swallow();
        throw new Error("the handler failed");
      },
      TIMES,
    );
    await expect(dropped).rejects.toThrow("the handler failed");
    // The server has been told to end the connection, and so has given the row free.
    const direct = mysqlTransactions({ pool: server.pool() });
    await expect
      .poll(async () => (await direct.process("dropped", work, TIMES)).state, { interval: 20 })
      .toBe("processed");
    expect(await effects.of("dropped")).toBe(1);
  });
});
