import type { PoolConnection, PoolOptions, RowDataPacket } from "mysql2/promise";
import { beforeAll, expect, it, vi } from "vitest";
import type { WebhookReceiver } from "../../../src/index.js";
import { mysqlStore, mysqlTransactions } from "../../../src/stores/mysql/index.js";
import { alarmReceiver } from "../../support/alarm-receiver.js";
import { deferred } from "../../support/deferred.js";
import { delivery } from "../../support/deliveries.js";
import { mysqlEngine } from "../../support/mysql/mysql-engine.js";
import { databaseOf, processWriting } from "../../support/stores/sql-engine.js";
import {
  PROCESSED,
  expectToProcess,
  expectToWork,
  verbsOf,
} from "../../support/stores/store-cases.js";
import { transactionalReceiver } from "../../support/transactional/transactional-receiver.js";

mysqlEngine.describe("the MySQL store", () => {
  const db = databaseOf(mysqlEngine);
  const sleep = (seconds: number) => mysqlEngine.sleep(db.pool, seconds);
  const leftOf = (column: string, key: string) => mysqlEngine.secondsLeft(db.pool, column, key);

  it("a call that waited too long leaves no open transaction, with autocommit off too", async () => {
    const pool = db.server.pool({ max: 1, session: "SET autocommit = 0" });
    const impatient = mysqlStore({ pool });
    const ignore = () => undefined;
    impatient.connectReceiver?.({ warn: ignore, noteForgets: ignore, dependencyTimeoutMs: 300 });
    // All other calls have no limit: on a busy machine each of them may take longer.
    const { claimed, complete, completed } = verbsOf(mysqlStore({ pool }));
    await claimed("held", "a");
    const holder = await db.pool.getConnection();
    await holder.beginTransaction();
    await holder.query("SELECT 1 FROM gateway_deliveries WHERE `key` = 'held' FOR UPDATE");
    await expect(verbsOf(impatient).complete("held", "a")).rejects.toThrow();
    const [rows] = await pool.query<RowDataPacket[]>("SELECT @@in_transaction AS isOpen");
    expect(rows).toEqual([{ isOpen: 0 }]);
    await holder.rollback();
    holder.release();
    await complete("held", "a");
    await completed("held", "b");
  });

  it("mysqlStore refuses a key that a lax server would truncate", async () => {
    const pool = db.server.pool({ session: "SET sql_mode = ''" });
    const { claimed } = verbsOf(mysqlStore({ pool }));
    await claimed("a".repeat(255), "a");
    await expect(claimed("a".repeat(256), "a")).rejects.toThrow("at most 255 bytes");
    await expect(claimed("é".repeat(128), "a")).rejects.toThrow(RangeError);
  });

  it.each([
    { rowsAsArray: true },
    { nestTables: true },
    { nestTables: "_" },
    { typeCast: false },
    { typeCast: () => "cast" },
    { supportBigNumbers: true, bigNumberStrings: true },
    { decimalNumbers: true, dateStrings: true },
    { namedPlaceholders: true, multipleStatements: true },
    { stringifyObjects: true, timezone: "+05:30" as const },
    { charset: "latin1" },
    { disableEval: true },
    { compress: true },
    { resetOnRelease: true },
    { queryFormat: (text: string) => text.replace(/[:?]/g, "unexpected") },
    { flags: ["-FOUND_ROWS"] },
    { flags: ["-SESSION_TRACK"] },
    { flags: ["-CLIENT_QUERY_ATTRIBUTES"] },
  ] as PoolOptions[])("both MySQL stores work on a pool with %j", async (config) => {
    const odd = db.server.pool({ driver: config });
    const store = mysqlStore({ pool: odd });
    const key = `odd ${JSON.stringify(config)}${Object.keys(config).join()}`;
    await store.migrate();
    const { claim, claimed, renewed, complete, inFlight } = verbsOf(store);
    await claim(key, "a", 1);
    await sleep(0.02);
    await claimed(key, "b", true);
    for (let again = 0; again < 5; again += 1) await renewed(key, "b", true, 30_000);
    await inFlight(key, "c", 30_000, 25_000);
    await expectToWork(store, `${key} 2`);
    await expectToProcess(mysqlTransactions({ pool: odd }), `${key} 4`);
    await complete(`${key} 3`, "a", 1);
    await sleep(0.02);
    expect(await store.purge()).toBeGreaterThan(0);
  });

  it.each([
    "SET time_zone = '+05:30'",
    "SET time_zone = '-11:00'",
    "SET timestamp = 1000000000",
    "SET timestamp = 2000000000, time_zone = '+13:00'",
  ])("mysqlStore keeps to the real time of the server after %s", async (session) => {
    const store = mysqlStore({ pool: db.server.pool({ session }) });
    await store.claim(session, "a", { leaseMs: 20_000, retentionMs: 40_000 });
    expect(await leftOf("lease_until", session)).toBeCloseTo(20, -1);
    expect(await leftOf("expires_at", session)).toBeCloseTo(40, -1);
    await verbsOf(mysqlStore({ pool: db.pool })).inFlight(session, "b", 20_000, 15_000);
    await store.complete(session, "a", { retentionMs: 90_000 });
    expect(await leftOf("expires_at", session)).toBeCloseTo(90, -1);
  });

  it("a lease granted after a long wait has its whole length", async () => {
    const { leased, inFlight, renewed } = verbsOf(mysqlStore({ pool: db.pool }));
    const stranger = await db.pool.getConnection();
    await stranger.query("START TRANSACTION");
    await stranger.query(
      "INSERT INTO gateway_deliveries (`key`, expires_at) VALUES ('waited', 9999999999999)",
    );
    const claim = leased("waited", "a");
    await sleep(1.5);
    await stranger.query("ROLLBACK");
    stranger.release();
    await claim;
    await inFlight("waited", "b");
    await renewed("waited", "a", true);
  });

  it("each receiver warns once of a MySQL server whose crash loses commits", async () => {
    const flush = (value: number) =>
      db.pool.query(`SET GLOBAL innodb_flush_log_at_trx_commit = ${String(value)}`);
    // Its one connection is in use by the check until the check has ended.
    const pool = db.server.pool({ max: 1 });
    const warn = vi.fn();
    const logger = { warn, error: () => undefined };
    const receivers = () => [
      alarmReceiver(() => undefined, { logger, store: mysqlStore({ pool }) }),
      transactionalReceiver(mysqlTransactions({ pool }), ({ tx }) => tx, { logger }),
    ];
    const deliverAll = async (to: readonly WebhookReceiver[], name: string) => {
      for (const [index, receiver] of to.entries()) {
        await receiver.receive(await delivery({ id: `${name}-${String(index)}` }));
      }
      await pool.query("SELECT 1");
    };
    await deliverAll(receivers(), "durable");
    expect(warn).not.toHaveBeenCalled();
    await flush(2);
    const warned = receivers();
    for (const name of ["first", "second"]) await deliverAll(warned, name);
    await flush(1);
    await expect.poll(() => warn.mock.calls.length).toBe(2);
    expect(String(warn.mock.calls[0])).toContain("innodb_flush_log_at_trx_commit");
  });
});

mysqlEngine.describe(
  "a statement in a MySQL transaction whose promise the handler does not use",
  () => {
    const db = databaseOf(mysqlEngine);

    const processWith = (key: string, beside: (tx: PoolConnection) => unknown, pool = db.pool) =>
      processWriting(mysqlTransactions({ pool }), db.effects, key, beside);
    const duplicate = (tx: PoolConnection) => tx.execute("INSERT INTO unique_ones VALUES (1)");

    beforeAll(async () => {
      await db.pool.query("CREATE TABLE unique_ones (id int PRIMARY KEY)");
      await db.pool.query("INSERT INTO unique_ones VALUES (1)");
    });

    it.each<[string, (tx: PoolConnection) => unknown]>([
      ["is still running at the end of the handler", (tx) => void duplicate(tx)],
      [
        "fails while the handler awaits another one",
        async (tx) => {
          void duplicate(tx);
          await tx.query("DO 1");
        },
      ],
      [
        "is a prepared one",
        async (tx) => {
          const prepared = await tx.prepare("INSERT INTO unique_ones VALUES (?)");
          void prepared.execute([1]);
        },
      ],
    ])("its failure rolls the delivery back if it %s", async (what, beside) => {
      const failed = processWith(what, beside);
      await expect(failed).rejects.toMatchObject({
        code: "transaction_aborted",
        cause: { code: "ER_DUP_ENTRY" },
      });
      expect(await db.effects.of(what)).toBe(0);
      expect(await db.effects.remembered(what)).toBe(0);
    });

    it("its connection goes back to the pool", async () => {
      const single = db.server.pool({ max: 1 });
      const failed = processWith("one connection", (tx) => void duplicate(tx), single);
      await expect(failed).rejects.toMatchObject({ code: "transaction_aborted" });
      expect(await processWith("one connection", () => undefined, single)).toEqual(PROCESSED);
    });

    it("its success is committed", async () => {
      const beside = (tx: PoolConnection) => void db.effects.write(tx, "not awaited");
      expect(await processWith("not awaited", beside)).toEqual(PROCESSED);
      expect(await db.effects.of("not awaited")).toBe(2);
    });

    it.each<[string, (tx: PoolConnection) => unknown]>([
      ["await", (tx) => expect(duplicate(tx)).rejects.toMatchObject({ errno: 1062 })],
      ["catch, without await", (tx) => void duplicate(tx).catch(() => undefined)],
      [
        "then and catch, without await",
        (tx) =>
          void duplicate(tx)
            .then(() => undefined)
            .catch(() => undefined),
      ],
      ["allSettled", (tx) => Promise.allSettled([duplicate(tx), duplicate(tx)])],
      [
        "await, after another statement",
        async (tx) => {
          const early = duplicate(tx);
          await tx.query("DO 1");
          await expect(early).rejects.toMatchObject({ errno: 1062 });
        },
      ],
    ])("an error that the handler handles by %s is no failure", async (how, beside) => {
      expect(await processWith(how, beside)).toEqual(PROCESSED);
      expect(await db.effects.of(how)).toBe(1);
    });

    it("a promise made of it that no one handles is left to Node", async () => {
      const unhandled = deferred<unknown>();
      const others = process.listeners("unhandledRejection");
      process.removeAllListeners("unhandledRejection");
      process.once("unhandledRejection", unhandled.resolve);
      try {
        await processWith("chained", (tx) => void duplicate(tx).then(() => undefined));
        expect(await unhandled.promise).toMatchObject({ code: "ER_DUP_ENTRY" });
      } finally {
        process.removeAllListeners("unhandledRejection");
        for (const listener of others) process.on("unhandledRejection", listener);
      }
    });
  },
);
