import pg from "pg";
import { expect, it } from "vitest";
import { postgresStore, postgresTransactions } from "../../../src/stores/postgres/index.js";
import { alarmReceiver } from "../../support/alarm-receiver.js";
import { deferred } from "../../support/deferred.js";
import { delivery } from "../../support/deliveries.js";
import { describePostgres } from "../../support/postgres/postgres-describe.js";
import { postgresEngine } from "../../support/postgres/postgres-engine.js";
import { databaseOf, mustNotRun, processWriting } from "../../support/stores/sql-engine.js";

const RETENTION = { retentionMs: 3_600_000 };
const PROCESSED = { state: "processed" };

describePostgres("the clients of postgresTransactions", () => {
  const db = databaseOf(postgresEngine);

  const processWith = (key: string, beside: (tx: pg.PoolClient) => unknown, pool = db.pool) =>
    processWriting(postgresTransactions({ pool }), db.effects, key, beside);

  it("postgresTransactions releases each client once, unchanged, however the transaction ends", async () => {
    const pool = db.server.pool({ max: 1 });
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
    expect(await postgresEngine.sessionState(pool)).toEqual([
      { prepared: 0, locks: 0, settings: 0 },
    ]);
  });

  it("postgresTransactions keeps no client of a server that refuses writes", async () => {
    const pool = db.server.pool({ max: 2 });
    // As after a failover: the name led to the old server when the first client connected.
    const readOnly = "SET default_transaction_read_only = on";
    pool.once("connect", (client: pg.PoolClient) => void client.query(readOnly));
    const store = postgresTransactions({ pool });
    const refused = store.process("moved", mustNotRun, RETENTION);
    await expect(refused).rejects.toMatchObject({ code: "25006" });
    expect(await store.process("moved", () => Promise.resolve(), RETENTION)).toEqual(PROCESSED);
  });

  it("postgresTransactions waits for a free client, and loses nothing if none gets free", async () => {
    const pool = db.server.pool({ max: 1, driver: { connectionTimeoutMillis: 200 } });
    const store = postgresTransactions({ pool });
    const end = deferred();
    const first = store.process("first", () => end.promise, RETENTION);
    const inVain = store.process("second", mustNotRun, RETENTION);
    await expect(inVain).rejects.toThrow("timeout exceeded when trying to connect");
    const waiting = store.process("third", (tx) => db.effects.write(tx, "third"), RETENTION);
    end.resolve();
    expect(await first).toEqual(PROCESSED);
    expect(await waiting).toEqual(PROCESSED);
    expect(await db.effects.of("third")).toBe(1);
    expect(await db.effects.remembered("second")).toBe(0);
    expect(await store.process("second", () => Promise.resolve(), RETENTION)).toEqual(PROCESSED);
  });

  it("a search_path behind a comment does not reach the next delivery", async () => {
    const single = db.server.pool({ max: 1 });
    const tenant = "/* tenant */ SET search_path TO tenant_b";
    await processWith("of tenant b", (tx) => tx.query(tenant).catch(() => undefined), single);
    const { rows } = await single.query("SHOW search_path");
    expect(rows).toEqual([{ search_path: '"$user", public' }]);
  });

  it("tx is an instance of pg's client", async () => {
    await processWith("asked", (tx) => {
      expect(tx).toBeInstanceOf(pg.Client);
      expect(tx.constructor).toBe(pg.Client);
      const ignore = (): void => undefined;
      expect(tx.once("notice", ignore)).toBe(tx);
      expect(tx.off("notice", ignore)).toBe(tx);
      expect(tx.escapeLiteral("it's")).toBe("'it''s'");
      // pg itself answers like this without the store.
      const nothing: unknown = undefined;
      expect(() => tx.query(nothing as string)).toThrow(TypeError);
    });
  });

  it("tx refuses release(), and the next delivery waits for its own client", async () => {
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
    const receiver = alarmReceiver(() => undefined, { store: postgresStore({ pool: client }) });
    const request = await delivery({ id: "single" });
    expect(await receiver.receive(request)).toMatchObject({ outcome: "handled" });
    expect(await receiver.receive(request)).toMatchObject({ outcome: "duplicate" });
    expect(await db.effects.remembered("single")).toBe(1);
    await client.end();
  });
});

/** A pool of another library than pg, whose `options` may mean anything. */
function poolWith(options: unknown): pg.Pool {
  return Object.assign(new pg.Pool(), { options });
}

it.each([
  [undefined, 9],
  [20, 19],
  [2, 1],
  [1, 1],
])("a PostgreSQL pool with max %s runs %i transactional deliveries at once", (max, expected) => {
  const pool = new pg.Pool(max === undefined ? {} : { max });
  expect(postgresTransactions({ pool }).maxConcurrentDeliveries).toBe(expected);
});

it("a PostgreSQL pool whose max cannot be read leaves the receiver its own default", () => {
  for (const options of [
    undefined,
    {},
    { max: undefined },
    { max: "20" },
    { max: 0 },
    { max: NaN },
  ]) {
    expect(postgresTransactions({ pool: poolWith(options) })).not.toHaveProperty(
      "maxConcurrentDeliveries",
    );
  }
});
