import callbacks from "mysql2";
import { createPool, type PoolConnection } from "mysql2/promise";
import pg from "pg";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { mysqlStore, mysqlTransactions } from "../../../src/stores/mysql/index.js";
import { postgresStore, postgresTransactions } from "../../../src/stores/postgres/index.js";
import { deferred } from "../../support/deferred.js";
import { mysqlEngine } from "../../support/mysql/mysql-engine.js";
import { postgresEngine } from "../../support/postgres/postgres-engine.js";
import {
  expectProcessed,
  databaseOf,
  mustNotRun,
  processWriting,
  type HeldConnection,
  type PoolSettings,
  type Sql,
} from "../../support/stores/sql-engine.js";
import { describeSql } from "../../support/stores/sql-engines.js";
import { PROCESSED, TIMES, expectToWork, verbsOf } from "../../support/stores/store-cases.js";

const REFUSAL = { name: "GatewayWebhookError", code: "transaction_misuse" };
const UNFINISHED = "handed out a client inside a transaction";

describeSql("the connections of transactions", (engine) => {
  const isMysql = engine.name === "MySQL";
  const db = databaseOf(engine);
  const { transactions } = engine;

  it(`${transactions} releases each connection once, unchanged`, async () => {
    const pool = db.server.pool({ max: 1 });
    const store = engine.makeTransactions(pool);
    const before = await engine.sessionState(pool);
    const counts = { acquire: 0, release: 0 };
    const emitter = (
      isMysql ? (pool as unknown as { pool: unknown }).pool : pool
    ) as NodeJS.EventEmitter;
    for (const event of ["acquire", "release"] as const) {
      emitter.on(event, () => (counts[event] += 1));
    }
    const listeners = new Set<number>();
    const noted = (tx: Sql) => {
      listeners.add((tx as Sql & NodeJS.EventEmitter).listenerCount("error"));
      return Promise.resolve();
    };
    const failing = (tx: Sql) => noted(tx).then(() => Promise.reject(new Error("no")));
    for (const key of ["ok", "ok", "last"]) await store.process(key, noted, TIMES);
    await expect(store.process("fails", failing, TIMES)).rejects.toThrow("no");
    const unfinished = (tx: Sql) => tx.query("SELECT nothing").then(() => undefined);
    await expect(store.process("fails", unfinished, TIMES)).rejects.toThrow("nothing");
    expect(counts).toEqual({ acquire: 5, release: 5 });
    expect(listeners).toEqual(new Set([1]));
    expect(await engine.sessionState(pool)).toEqual(before);
  });

  it(`${transactions} waits for a free connection, and loses nothing without one`, async () => {
    const store = engine.makeTransactions(db.server.pool({ max: 1 }));
    const end = deferred();
    const first = store.process("first", () => end.promise, TIMES);
    const waiting = store.process("third", (tx) => db.effects.write(tx, "third"), TIMES);
    end.resolve();
    expect([await first, await waiting]).toEqual([PROCESSED, PROCESSED]);
    expect(await db.effects.of("third")).toBe(1);
    const driver = isMysql ? { waitForConnections: false } : { connectionTimeoutMillis: 200 };
    const hasty = db.server.pool({ max: 1, driver });
    const taken = await engine.connect(hasty);
    const inVain = engine.makeTransactions(hasty).process("second", mustNotRun, TIMES);
    await expect(inVain).rejects.toThrow(
      isMysql ? "No connections available" : "timeout exceeded when trying to connect",
    );
    taken.release();
    await expectProcessed(store, "second");
  });

  it("tx is an instance of the connection of its driver", async () => {
    const native = await engine.connect(db.pool);
    native.release();
    const ignore = () => undefined;
    const asked = (tx: Sql) => {
      expect(tx).toBeInstanceOf(native.constructor);
      expect(tx.constructor).toBe(native.constructor);
      const emitter = tx as Sql & NodeJS.EventEmitter;
      expect(emitter.once("drain", ignore)).toBe(tx);
      expect(emitter.off("drain", ignore)).toBe(tx);
      // pg itself answers like this without the store.
      if (!isMysql) expect(() => tx.query(undefined as unknown as string)).toThrow(TypeError);
    };
    const asking = processWriting(engine.makeTransactions(db.pool), db.effects, "asked", asked);
    expect(await asking).toEqual(PROCESSED);
  });

  it(`${transactions} releases a connection that arrives too late`, async () => {
    const pool = db.server.pool({ max: 1 });
    const connection = await engine.connect(pool);
    const pending = deferred<HeldConnection>();
    const connect = () => pending.promise;
    const slow = {
      query: (sql: string, values?: unknown[]) => pool.query(sql, values),
      connect,
      getConnection: connect,
    };
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const late = engine.makeTransactions(slow).process("late", mustNotRun, TIMES);
    const method = isMysql ? "getConnection" : "connect";
    // What has passed before, by the real clock, is taken off.
    const message = new RegExp(`^pool\\.${method} took longer than \\d+ ms$`);
    const rejection = expect(late).rejects.toThrow(message);
    await vi.advanceTimersByTimeAsync(10_000);
    await rejection;
    vi.useRealTimers();
    pending.resolve(connection);
    // The pool has one connection: this waits for its release.
    (await engine.connect(pool)).release();
  });

  it(`${transactions} calls no handler on a missing or read-only table`, async () => {
    const missing = engine.makeTransactions(db.pool, { table: "missing" });
    const noTable = isMysql ? { errno: 1146 } : { code: "42P01" };
    await expect(missing.process("k", mustNotRun, TIMES)).rejects.toMatchObject(noTable);
    const session = isMysql
      ? "SET SESSION TRANSACTION READ ONLY"
      : "SET default_transaction_read_only = on";
    const readOnly = engine.makeTransactions(db.server.pool({ session }));
    const notAllowed = isMysql ? { errno: 1792 } : { code: "25006" };
    await expect(readOnly.process("k", mustNotRun, TIMES)).rejects.toMatchObject(notAllowed);
  });
});

describeSql("a connection that other code released inside a transaction", (engine) => {
  const db = databaseOf(engine);
  /** A pool of one connection, which is inside a transaction. */
  let pool: Sql;

  /** Releases the pool's connection after `begin` and half of some work. */
  async function leaveOpen(begin: string): Promise<void> {
    pool = db.server.pool({ max: 1 });
    const connection = await engine.connect(pool);
    await connection.query(begin);
    await db.effects.write(connection, "half");
    connection.release();
  }

  describe("after BEGIN", () => {
    beforeEach(() => leaveOpen("BEGIN"));

    it(`${engine.transactions} runs no handler on an unfinished connection`, async () => {
      const store = engine.makeTransactions(pool);
      await expect(store.process("t", mustNotRun, TIMES)).rejects.toThrow(UNFINISHED);
      const work = (tx: Sql) => db.effects.write(tx, "t");
      await expectProcessed(store, "t", work);
      expect(await db.effects.of("t")).toBe(1);
      expect(await db.effects.of("half")).toBe(0);
    });

    it(`${engine.store} claims nothing on an unfinished connection`, async () => {
      const store = engine.makeStore(pool);
      const refused = async () => store.claim("claimed", "a", TIMES);
      await expect(refused()).rejects.toThrow(UNFINISHED);
      expect(await db.effects.remembered("claimed")).toBe(0);
      await verbsOf(store).claimed("claimed", "a");
      await verbsOf(engine.makeStore(db.pool)).inFlight("claimed", "b");
      expect(await db.effects.of("half")).toBe(0);
    });

    it(`${engine.store} rejects a completion on an unfinished connection`, async () => {
      const store = engine.makeStore(pool);
      const refused = async () => store.complete("completed", "a", TIMES);
      await expect(refused()).rejects.toThrow(UNFINISHED);
      await store.complete("completed", "a", TIMES);
      expect(await db.effects.remembered("completed")).toBe(1);
    });
  });

  if (engine.name === "PostgreSQL") return;

  describe("with autocommit off, where every read leaves a transaction open", () => {
    beforeEach(() => leaveOpen("SET autocommit = 0"));

    it("mysqlTransactions rolls back what other code left", async () => {
      const work = (tx: Sql) => db.effects.write(tx, "off");
      const store = engine.makeTransactions(pool);
      await expectProcessed(store, "off", work);
      expect(await db.effects.of("off")).toBe(1);
      expect(await db.effects.of("half")).toBe(0);
    });

    it("migrate() and purge() leave no transaction open", async () => {
      const store = engine.makeStore(pool);
      await store.migrate();
      await store.purge();
      const rows = await engine.rows(pool, "SELECT @@in_transaction AS inTransaction");
      expect(rows).toEqual([{ inTransaction: 0 }]);
      expect(await db.effects.of("half")).toBe(0);
    });
  });
});

mysqlEngine.describe("MySQL: its own connections", () => {
  const db = databaseOf(mysqlEngine);

  const processWith = (key: string, beside: (tx: PoolConnection) => unknown) =>
    processWriting(mysqlTransactions({ pool: db.pool }), db.effects, key, beside);

  it.each<PoolSettings>([
    { isolation: "READ UNCOMMITTED" },
    { isolation: "READ UNCOMMITTED", session: "SET autocommit = 0" },
    { isolation: "SERIALIZABLE" },
    { isolation: "SERIALIZABLE", session: "SET autocommit = 0" },
  ])("with %j a completion counts from its commit, and is not waited for", async (settings) => {
    const store = mysqlTransactions({ pool: db.server.pool(settings) });
    const committing = await db.pool.getConnection();
    await committing.beginTransaction();
    const written = "INSERT INTO gateway_deliveries (`key`, expires_at) VALUES (?, 9999999999999)";
    const key = JSON.stringify(settings);
    await committing.query(written, [key]);
    const inFlight = { state: "in_flight", retryAfterMs: 10_000 };
    expect(await store.process(key, mustNotRun, TIMES)).toEqual(inFlight);
    // The host that was about to commit is gone.
    await committing.rollback();
    committing.release();
    await expectProcessed(store, key, (tx) => db.effects.write(tx, key));
    expect(await db.effects.of(key)).toBe(1);
  });

  it("both stores accept a pool with callbacks, and tx has promises", async () => {
    const pool = callbacks.createPool({
      host: "127.0.0.1",
      port: db.server.port,
      user: "root",
      database: "test",
      connectionLimit: 3,
    });
    const store = mysqlTransactions({ pool });
    expect(store.maxConcurrentDeliveries).toBe(2);
    await store.process("called back", (tx) => db.effects.write(tx, "called back"), TIMES);
    expect(await db.effects.of("called back")).toBe(1);
    const leases = mysqlStore({ pool });
    await verbsOf(leases).completed("called back", "a");
    await pool.promise().end();
  });

  it("tx refuses every method that takes the connection away", async () => {
    const beside = async (tx: PoolConnection) => {
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

postgresEngine.describe("PostgreSQL: its own clients", () => {
  const db = databaseOf(postgresEngine);

  const processWith = (key: string, beside: (tx: pg.PoolClient) => unknown, pool = db.pool) =>
    processWriting(postgresTransactions({ pool }), db.effects, key, beside);

  it("postgresTransactions keeps no client of a read-only server", async () => {
    const pool = db.server.pool({ max: 2 });
    // As after a failover: the name led to the old server when the first client connected.
    const readOnly = "SET default_transaction_read_only = on";
    pool.once("connect", (client: pg.PoolClient) => void client.query(readOnly));
    const store = postgresTransactions({ pool });
    const refused = store.process("moved", mustNotRun, TIMES);
    await expect(refused).rejects.toMatchObject({ code: "25006" });
    await expectProcessed(store, "moved");
  });

  it("tx refuses release(), and the next delivery waits for its client", async () => {
    const single = db.server.pool({ max: 1 });
    const releasing = processWith("releasing", (tx) => tx.release(), single);
    const innocent = processWith("innocent", () => Promise.reject(new Error("no")), single);
    await expect(releasing).rejects.toThrow("the store releases tx");
    await expect(innocent).rejects.toThrow("no");
    for (const key of ["releasing", "innocent"]) {
      expect(await db.effects.of(key)).toBe(0);
      expect(await db.effects.remembered(key)).toBe(0);
    }
    expect(single.idleCount).toBe(1);
  });

  it("postgresStore accepts a single client instead of a pool", async () => {
    const address = { host: "127.0.0.1", port: db.server.port };
    const client = new pg.Client({ ...address, user: "postgres", database: "postgres" });
    client.on("error", () => undefined);
    await client.connect();
    await expectToWork(postgresStore({ pool: client }), "single");
    await client.end();
  });
});

it.each([
  [undefined, 9],
  [20, 19],
  [1, 1],
])("a pool of %s connections runs %i transactional deliveries at once", (limit, expected) => {
  const [mysqlPool, pgPool] = [
    createPool(limit === undefined ? {} : { connectionLimit: limit }),
    new pg.Pool(limit === undefined ? {} : { max: limit }),
  ];
  expect(mysqlTransactions({ pool: mysqlPool }).maxConcurrentDeliveries).toBe(expected);
  expect(postgresTransactions({ pool: pgPool }).maxConcurrentDeliveries).toBe(expected);
});

it("a pool whose limit cannot be read leaves the receiver its default", () => {
  const unlimited = createPool({ connectionLimit: 0 });
  expect(mysqlTransactions({ pool: unlimited }).maxConcurrentDeliveries).toBeUndefined();
  for (const options of [undefined, {}, { max: "20" }, { max: 0 }, { max: NaN }]) {
    // A pool of another library than pg, whose `options` may mean anything.
    const pool = Object.assign(new pg.Pool(), { options });
    expect(postgresTransactions({ pool })).not.toHaveProperty("maxConcurrentDeliveries");
  }
});
