import callbacks from "mysql2";
import { createPool, type PoolConnection, type RowDataPacket } from "mysql2/promise";
import { expect, it } from "vitest";
import { mysqlStore, mysqlTransactions } from "../../../src/stores/mysql/index.js";
import { deferred } from "../../support/deferred.js";
import { describeMysql } from "../../support/mysql/mysql-describe.js";
import { mysqlEngine } from "../../support/mysql/mysql-engine.js";
import {
  databaseOf,
  mustNotRun,
  processWriting,
  type PoolSettings,
} from "../../support/stores/sql-engine.js";

const RETENTION = { retentionMs: 3_600_000 };
const PROCESSED = { state: "processed" };
const REFUSAL = { name: "GatewayWebhookError", code: "transaction_misuse" };

describeMysql("the connections of mysqlTransactions", () => {
  const db = databaseOf(mysqlEngine);

  const processWith = (key: string, beside: (tx: PoolConnection) => unknown) =>
    processWriting(mysqlTransactions({ pool: db.pool }), db.effects, key, beside);

  it("mysqlTransactions releases each connection once, unchanged, however the transaction ends", async () => {
    const pool = db.server.pool({ max: 1 });
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
    const store = mysqlTransactions({ pool: db.server.pool({ max: 1 }) });
    const end = deferred();
    const first = store.process("first", () => end.promise, RETENTION);
    const waiting = store.process("third", (tx) => db.effects.write(tx, "third"), RETENTION);
    end.resolve();
    expect(await first).toEqual(PROCESSED);
    expect(await waiting).toEqual(PROCESSED);
    expect(await db.effects.of("third")).toBe(1);
    const hasty = db.server.pool({ max: 1, driver: { waitForConnections: false } });
    const taken = await hasty.getConnection();
    const inVain = mysqlTransactions({ pool: hasty }).process("second", mustNotRun, RETENTION);
    await expect(inVain).rejects.toThrow("No connections available");
    taken.release();
    expect(await db.effects.remembered("second")).toBe(0);
    expect(await store.process("second", () => Promise.resolve(), RETENTION)).toEqual(PROCESSED);
  });

  it.each<PoolSettings>([
    { isolation: "READ UNCOMMITTED" },
    { isolation: "READ UNCOMMITTED", session: "SET autocommit = 0" },
    { isolation: "SERIALIZABLE" },
    { isolation: "SERIALIZABLE", session: "SET autocommit = 0" },
  ])(
    "with %j a completion counts when it is committed, and is not waited for",
    async (settings) => {
      const store = mysqlTransactions({ pool: db.server.pool(settings) });
      const committing = await db.pool.getConnection();
      await committing.beginTransaction();
      const written =
        "INSERT INTO gateway_deliveries (`key`, expires_at) VALUES (?, 9999999999999)";
      const key = JSON.stringify(settings);
      await committing.query(written, [key]);
      const inFlight = { state: "in_flight", retryAfterMs: 10_000 };
      expect(await store.process(key, mustNotRun, RETENTION)).toEqual(inFlight);
      // The host that was about to commit is gone.
      await committing.rollback();
      committing.release();
      expect(await store.process(key, (tx) => db.effects.write(tx, key), RETENTION)).toEqual(
        PROCESSED,
      );
      expect(await db.effects.of(key)).toBe(1);
    },
  );

  it("both stores accept a pool of mysql2 with callbacks, and tx has promises", async () => {
    const pool = callbacks.createPool({
      host: "127.0.0.1",
      port: db.server.port,
      user: "root",
      database: "test",
      connectionLimit: 3,
    });
    const store = mysqlTransactions({ pool });
    expect(store.maxConcurrentDeliveries).toBe(2);
    await store.process("called back", (tx) => db.effects.write(tx, "called back"), RETENTION);
    expect(await db.effects.of("called back")).toBe(1);
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
    const pool = createPool(limit === undefined ? {} : { connectionLimit: limit });
    expect(mysqlTransactions({ pool }).maxConcurrentDeliveries).toBe(expected);
  });

  it("tx is an instance of the connection of mysql2", async () => {
    const native = await db.pool.getConnection();
    native.release();
    await processWith("asked", async (tx) => {
      expect(tx).toBeInstanceOf(native.constructor);
      expect(tx.constructor).toBe(native.constructor);
      const ignore = (): void => undefined;
      expect(tx.once("drain", ignore)).toBe(tx);
      expect(tx.off("drain", ignore)).toBe(tx);
      expect(tx.escape("it's")).toBe("'it\\'s'");
      await tx.ping();
      const prepared = await tx.prepare("INSERT INTO effects VALUES (?)");
      await prepared.execute(["asked"]);
      await prepared.close();
    });
    expect(await db.effects.of("asked")).toBe(2);
  });

  it("tx refuses every method that takes the connection away", async () => {
    const beside = async (tx: PoolConnection): Promise<void> => {
      const promises = [
        tx.beginTransaction(),
        tx.commit(),
        tx.rollback(),
        tx.end(),
        tx.reset(),
        tx.changeUser({}),
        tx[Symbol.asyncDispose](),
      ];
      for (const refused of promises) await expect(refused).rejects.toMatchObject(REFUSAL);
      const refusal = expect.objectContaining(REFUSAL) as Error;
      for (const method of ["release", "destroy"] as const) {
        expect(() => tx[method]()).toThrow(refusal);
      }
    };
    expect(await processWith("kept", beside)).toEqual(PROCESSED);
    expect(await db.effects.of("kept")).toBe(1);
  });

  it("a handler that deletes the row of its delivery is refused", async () => {
    const deleting = processWith("deleted", (tx) => tx.query("DELETE FROM gateway_deliveries"));
    await expect(deleting).rejects.toMatchObject(REFUSAL);
    expect(await db.effects.of("deleted")).toBe(0);
  });
});
