import callbacks from "mysql2";
import type { Pool, PoolConnection, RowDataPacket } from "mysql2/promise";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { mysqlStore, mysqlTransactions } from "../../../src/stores/mysql/index.js";
import { deferred } from "../../support/deferred.js";
import { describeMysql } from "../../support/mysql/mysql-describe.js";
import { mysqlEngine } from "../../support/mysql/mysql-engine.js";
import { startMysql, type MysqlServer } from "../../support/mysql/mysql-server.js";
import { createEffects, mustNotRun, type Effects } from "../../support/stores/sql-engine.js";

const RETENTION = { retentionMs: 3_600_000 };
const PROCESSED = { state: "processed" };

describeMysql("the connections of mysqlTransactions", () => {
  let server: MysqlServer;
  let effects: Effects;

  beforeAll(async () => {
    server = await startMysql();
    const pool = server.pool();
    await mysqlTransactions({ pool }).migrate();
    effects = await createEffects(mysqlEngine, pool);
  });
  afterAll(async () => {
    await server.close();
  });

  it("mysqlTransactions releases each connection once, unchanged, however the transaction ends", async () => {
    const pool = server.pool({ connectionLimit: 1 });
    const store = mysqlTransactions({ pool });
    const counts = { connection: 0, acquire: 0, release: 0 };
    for (const event of ["connection", "acquire", "release"] as const) {
      pool.pool.on(event, () => (counts[event] += 1));
    }
    const listeners: number[] = [];
    const noted = (tx: PoolConnection) => {
      listeners.push(tx.listenerCount("error"));
      return Promise.resolve();
    };
    await store.process("ok", noted, RETENTION);
    await store.process("ok", noted, RETENTION);
    const failing = (tx: PoolConnection) => noted(tx).then(() => Promise.reject(new Error("no")));
    await expect(store.process("fails", failing, RETENTION)).rejects.toThrow("no");
    await store.process("last", noted, RETENTION);
    expect(counts).toEqual({ connection: 1, acquire: 4, release: 4 });
    expect(new Set(listeners)).toEqual(new Set([1]));
    const [rows] = await pool.query<RowDataPacket[]>(
      "SELECT @@autocommit AS autocommit, @@in_transaction AS inTransaction, @@max_statement_time AS time",
    );
    expect(rows).toEqual([{ autocommit: 1, inTransaction: 0, time: 0 }]);
  });

  it("mysqlTransactions waits for a free connection, and loses nothing if none gets free", async () => {
    const store = mysqlTransactions({ pool: server.pool({ connectionLimit: 1 }) });
    const end = deferred();
    const first = store.process("first", () => end.promise, RETENTION);
    const waiting = store.process("third", (tx) => effects.write(tx, "third"), RETENTION);
    end.resolve();
    expect(await first).toEqual(PROCESSED);
    expect(await waiting).toEqual(PROCESSED);
    expect(await effects.of("third")).toBe(1);
    const hasty = server.pool({ connectionLimit: 1, waitForConnections: false });
    const taken = await hasty.getConnection();
    const inVain = mysqlTransactions({ pool: hasty }).process("second", mustNotRun, RETENTION);
    await expect(inVain).rejects.toThrow("No connections available");
    taken.release();
    expect(await effects.remembered("second")).toBe(0);
    expect(await store.process("second", () => Promise.resolve(), RETENTION)).toEqual(PROCESSED);
  });

  it("mysqlTransactions releases a connection that arrives too late", async () => {
    const pool = server.pool({ connectionLimit: 1 });
    const connection = await pool.getConnection();
    const pending = deferred<PoolConnection>();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const slow = { getConnection: () => pending.promise };
      const late = mysqlTransactions({ pool: slow }).process("late", mustNotRun, RETENTION);
      const rejection = expect(late).rejects.toThrow(
        "pool.getConnection took longer than 10000 ms",
      );
      await vi.advanceTimersByTimeAsync(10_000);
      await rejection;
    } finally {
      vi.useRealTimers();
    }
    pending.resolve(connection);
    // The pool has one connection: this waits for its release.
    (await pool.getConnection()).release();
  });

  it("mysqlTransactions calls no handler if the table is missing or read-only", async () => {
    const missing = mysqlTransactions({ pool: server.pool(), table: "missing" });
    await expect(missing.process("k", mustNotRun, RETENTION)).rejects.toHaveProperty("errno", 1146);
    const pool = server.pool();
    pool.pool.on("connection", (connection) => {
      connection.query("SET SESSION TRANSACTION READ ONLY");
    });
    await expect(
      mysqlTransactions({ pool }).process("k", mustNotRun, RETENTION),
    ).rejects.toHaveProperty("errno", 1792);
  });

  it("both stores accept a pool of mysql2 with callbacks, and tx has promises", async () => {
    const pool = callbacks.createPool({
      ...{ host: "127.0.0.1", port: server.port, user: "root", database: "test" },
      connectionLimit: 3,
    });
    const store = mysqlTransactions({ pool });
    expect(store.maxConcurrentDeliveries).toBe(2);
    await store.process("called back", (tx) => effects.write(tx, "called back"), RETENTION);
    expect(await effects.of("called back")).toBe(1);
    const leases = mysqlStore({ pool });
    const times = { leaseMs: 1_000, ...RETENTION };
    expect(await leases.claim("called back", "a", times)).toEqual({ state: "completed" });
    await pool.promise().end();
  });

  it.each([
    [undefined, 9],
    [20, 19],
    [1, 1],
    [0, undefined],
  ])("a MySQL pool with the connectionLimit %s runs %s deliveries at once", (limit, expected) => {
    const pool: Pool = server.pool(limit === undefined ? {} : { connectionLimit: limit });
    expect(mysqlTransactions({ pool }).maxConcurrentDeliveries).toBe(expected);
  });
});
