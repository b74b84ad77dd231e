import type { Pool, PoolOptions, RowDataPacket } from "mysql2/promise";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ConfigurationError } from "../../../src/index.js";
import { mysqlStore, mysqlTransactions } from "../../../src/stores/mysql/index.js";
import { describeMysql } from "../../support/mysql/mysql-describe.js";
import { startMysql, type MysqlServer } from "../../support/mysql/mysql-server.js";

const TIMES = { leaseMs: 30_000, retentionMs: 3_600_000 };
const CLAIMED = { state: "claimed", takeover: false };
const TAKEN_OVER = { state: "claimed", takeover: true };

describeMysql("the MySQL store", () => {
  let server: MysqlServer;
  let pool: Pool;

  beforeAll(async () => {
    server = await startMysql();
    pool = server.pool();
    await mysqlStore({ pool }).migrate();
  });
  afterAll(async () => {
    await server.close();
  });

  /** A pool whose connections first run `sql`. */
  function poolWith(sql: string, config: PoolOptions = {}): Pool {
    const made = server.pool(config);
    made.pool.on("connection", (connection) => {
      connection.query(sql);
    });
    return made;
  }

  const sleep = (seconds: number) => pool.query(`DO SLEEP(${String(seconds)})`);

  /** Unix milliseconds of a column of the row of `key`, by the host's clock: negative in the past. */
  async function leftOf(column: string, key: string): Promise<number> {
    const [rows] = await pool.query<RowDataPacket[]>(
      `SELECT ${column} AS ms FROM gateway_deliveries WHERE \`key\` = ?`,
      [key],
    );
    return Number(rows[0]?.["ms"]) - Date.now();
  }

  it.each([
    ...["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"].map(
      (level) => `SET SESSION TRANSACTION ISOLATION LEVEL ${level}`,
    ),
    "SET innodb_snapshot_isolation = ON",
    "SET innodb_lock_wait_timeout = 0",
  ])("mysqlStore grants one of 50 concurrent claims after %s and fails none", async (session) => {
    const stores = [1, 2].map(() =>
      mysqlStore({ pool: poolWith(session, { connectionLimit: 25 }) }),
    );
    for (const key of ["first", "second", "third"].map((name) => `${session} ${name}`)) {
      const states = await Promise.all(
        Array.from({ length: 50 }, async (_, index) => {
          const result = await stores[index % 2]?.claim(key, `owner-${index}`, TIMES);
          return result?.state;
        }),
      );
      expect(states.filter((state) => state === "claimed")).toHaveLength(1);
      expect(states.filter((state) => state === "in_flight")).toHaveLength(49);
    }
  });

  it("mysqlStore fails no claim and no release while many owners take turns on one key", async () => {
    const stores = [1, 2].map(() => mysqlStore({ pool: server.pool({ connectionLimit: 20 }) }));
    let held = 0;
    let most = 0;
    const turns = await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        const store = stores[index % 2];
        const owner = `owner-${index}`;
        for (let turn = 0; turn < 20; turn += 1) {
          const claim = await store?.claim("contended", owner, TIMES);
          if (claim?.state !== "claimed") continue;
          held += 1;
          most = Math.max(most, held);
          await new Promise((resolve) => setImmediate(resolve));
          held -= 1;
          await store?.release("contended", owner);
        }
      }),
    );
    expect(turns).toHaveLength(40);
    expect(most).toBe(1);
  });

  it("mysqlStore uses any text of a key or owner as a value, never as SQL", async () => {
    const store = mysqlStore({ pool });
    const awkward = [
      "__proto__",
      "'; DROP TABLE gateway_deliveries; --",
      '"',
      "?",
      ":a",
      "\\",
      "é 💥",
    ];
    for (const text of awkward) {
      expect(await store.claim(text, text, TIMES)).toEqual(CLAIMED);
      expect(await store.claim(text, "other", TIMES)).toMatchObject({ state: "in_flight" });
      await store.release(text, text);
      expect(await store.claim(text, "other", TIMES)).toEqual(CLAIMED);
    }
  });

  it("mysqlStore refuses a key that a server without strict mode would truncate", async () => {
    const store = mysqlStore({ pool: poolWith("SET sql_mode = ''") });
    const claim = async (key: string) => store.claim(key, "a", TIMES);
    expect(await claim("a".repeat(255))).toEqual(CLAIMED);
    await expect(claim("a".repeat(256))).rejects.toThrow("at most 255 bytes");
    await expect(claim("é".repeat(128))).rejects.toThrow(RangeError);
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
    const odd = server.pool(config);
    const store = mysqlStore({ pool: odd });
    const key = `odd ${JSON.stringify(config)}${Object.keys(config).join()}`;
    await store.migrate();
    expect(await store.claim(key, "a", { leaseMs: 1, retentionMs: 60_000 })).toEqual(CLAIMED);
    await sleep(0.02);
    expect(await store.claim(key, "b", TIMES)).toEqual(TAKEN_OVER);
    for (let again = 0; again < 5; again += 1) {
      expect(await store.renew(key, "b", { leaseMs: 30_000 })).toBe(true);
    }
    const held = await store.claim(key, "c", TIMES);
    expect(held).toMatchObject({ state: "in_flight" });
    expect(held).toHaveProperty("retryAfterMs", expect.closeTo(30_000, -4));
    expect(await store.renew(key, "a", { leaseMs: 1_000 })).toBe(false);
    await store.complete(key, "b", { retentionMs: 60_000 });
    expect(await store.claim(key, "c", TIMES)).toEqual({ state: "completed" });
    const transactions = mysqlTransactions({ pool: odd });
    const work = () => Promise.resolve();
    expect(await transactions.process(key, work, TIMES)).toEqual({ state: "completed" });
    expect(await transactions.process(`${key} 2`, work, TIMES)).toEqual({ state: "processed" });
    expect(await transactions.process(`${key} 2`, work, TIMES)).toEqual({ state: "completed" });
    await store.complete(`${key} 3`, "a", { retentionMs: 1 });
    await sleep(0.02);
    expect(await store.purge()).toBeGreaterThan(0);
  });

  it.each([
    "SET time_zone = '+05:30'",
    "SET time_zone = '-11:00'",
    "SET timestamp = 1000000000",
    "SET timestamp = 2000000000, time_zone = '+13:00'",
  ])("mysqlStore keeps to the real time of the server after %s", async (session) => {
    const store = mysqlStore({ pool: poolWith(session) });
    await store.claim(session, "a", { leaseMs: 20_000, retentionMs: 40_000 });
    expect(await leftOf("lease_until", session)).toBeCloseTo(20_000, -4);
    expect(await leftOf("expires_at", session)).toBeCloseTo(40_000, -4);
    const duplicate = await mysqlStore({ pool }).claim(session, "b", TIMES);
    expect(duplicate).toHaveProperty("retryAfterMs", expect.closeTo(20_000, -4));
    await store.complete(session, "a", { retentionMs: 90_000 });
    expect(await leftOf("expires_at", session)).toBeCloseTo(90_000, -4);
  });

  it("a lease that is granted after a long wait for the row has its whole length", async () => {
    const store = mysqlStore({ pool });
    const stranger = await pool.getConnection();
    await stranger.query("START TRANSACTION");
    await stranger.query(
      "INSERT INTO gateway_deliveries (`key`, expires_at) VALUES ('waited', 9999999999999)",
    );
    const claim = store.claim("waited", "a", { leaseMs: 1_000, retentionMs: 60_000 });
    await sleep(1.5);
    await stranger.query("ROLLBACK");
    stranger.release();
    expect(await claim).toEqual(CLAIMED);
    expect(await store.claim("waited", "b", TIMES)).toMatchObject({ state: "in_flight" });
    expect(await store.renew("waited", "a", { leaseMs: 1_000 })).toBe(true);
  });

  it("mysqlStore keeps a lease that outlasts the retention", async () => {
    const store = mysqlStore({ pool });
    await store.claim("renewed", "a", { leaseMs: 10_000, retentionMs: 50 });
    await store.claim("outlasting", "a", { leaseMs: 60_000, retentionMs: 50 });
    expect(await store.renew("renewed", "a", { leaseMs: 60_000 })).toBe(true);
    await sleep(0.1);
    await store.purge();
    for (const key of ["renewed", "outlasting"]) {
      expect(await store.claim(key, "b", TIMES)).toMatchObject({ state: "in_flight" });
    }
  });

  it("mysqlStore accepts a retention of millennia", async () => {
    const store = mysqlStore({ pool });
    const retentionMs = Number.MAX_SAFE_INTEGER * 2;
    expect(await store.claim("ages", "a", { leaseMs: 1_000, retentionMs })).toEqual(CLAIMED);
    await store.complete("ages", "a", { retentionMs });
    expect(await store.claim("ages", "b", TIMES)).toEqual({ state: "completed" });
  });

  it("mysqlStore remembers a released takeover, so the next claim is a takeover too", async () => {
    const store = mysqlStore({ pool });
    await store.claim("released", "crashed", { leaseMs: 1, retentionMs: 60_000 });
    await sleep(0.05);
    for (const owner of ["b", "c", "d"]) {
      expect(await store.claim("released", owner, TIMES)).toEqual(TAKEN_OVER);
      await store.release("released", "another");
      expect(await store.claim("released", "e", TIMES)).toMatchObject({ state: "in_flight" });
      await store.release("released", owner);
      expect(await store.renew("released", owner, { leaseMs: 1_000 })).toBe(false);
    }
    expect(await store.claim("released", "d", TIMES)).toEqual(TAKEN_OVER);
    await store.complete("released", "d", TIMES);
    await store.release("released", "d");
    expect(await store.claim("released", "e", TIMES)).toEqual({ state: "completed" });
  });

  it("mysqlStore leaves nothing on the connection", async () => {
    const single = server.pool({ connectionLimit: 1 });
    const store = mysqlStore({ pool: single });
    const settings = async () =>
      (
        await single.query<RowDataPacket[]>(
          `SELECT variable_name, variable_value FROM information_schema.session_variables
            WHERE variable_name NOT IN ('TIMESTAMP', 'LAST_INSERT_ID', 'INSERT_ID', 'LAST_GTID')
            AND variable_name NOT LIKE 'RAND_SEED%' AND variable_name NOT LIKE 'WARNING_COUNT'`,
        )
      )[0];
    const before = await settings();
    await store.migrate();
    await store.claim("session", "a", TIMES);
    await store.renew("session", "a", { leaseMs: 1_000 });
    await store.complete("session", "a", { retentionMs: 1_000 });
    await store.release("session", "a");
    await store.purge();
    await mysqlTransactions({ pool: single }).process("session 2", () => Promise.resolve(), TIMES);
    expect(await settings()).toEqual(before);
    const [rows] = await single.query<RowDataPacket[]>(
      "SHOW SESSION STATUS LIKE 'Com_stmt_prepare'",
    );
    expect(rows[0]).toMatchObject({ Value: "0" });
  });

  it("mysqlStore remembers through a crash and a restart of the server", async () => {
    const other = await startMysql();
    try {
      const store = mysqlStore({ pool: other.pool() });
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

  describe("the options of mysqlStore", () => {
    it.each(
      [
        ["", "a.b.c", "a b", "1a", ".a", "a.", "a`b", "a;b", "é", "a".repeat(65)],
        [null, 1, {}, ["a"]],
      ].flat(),
    )("mysqlStore refuses the table %j", (table) => {
      expect(() => mysqlStore({ pool, table: table as string })).toThrow(/^table must be/);
    });

    it("mysqlStore refuses anything but a pool, and an unknown option", () => {
      for (const notAPool of [undefined, null, "mysql://", {}, { getConnection: 1 }]) {
        expect(() => mysqlStore({ pool: notAPool as unknown as Pool })).toThrow(
          "pool must be a pool of mysql2, with the method getConnection",
        );
      }
      for (const nothing of [undefined, null]) {
        const options = nothing as unknown as { pool: Pool };
        for (const make of [mysqlStore, mysqlTransactions]) {
          expect(() => make(options)).toThrow(ConfigurationError);
        }
      }
      const misspelt = { pool, tabel: "a" };
      expect(() => mysqlStore(misspelt)).toThrow("tabel is no option");
    });
  });
});
