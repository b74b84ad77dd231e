import type { Pool } from "mysql2/promise";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { mysqlStore, mysqlTransactions } from "../../../src/stores/mysql/index.js";
import { describeMysql } from "../../support/mysql/mysql-describe.js";
import { createEffects, mustNotRun, type Effects } from "../../support/mysql/mysql-effects.js";
import { startMysql, type MysqlServer } from "../../support/mysql/mysql-server.js";

const TIMES = { leaseMs: 30_000, retentionMs: 3_600_000 };
const UNFINISHED = "handed out a client inside a transaction";

describeMysql("a connection that other code released inside a transaction", () => {
  let server: MysqlServer;
  let effects: Effects;
  /** A pool of one connection, which is inside a transaction. */
  let pool: Pool;

  beforeAll(async () => {
    server = await startMysql();
    await mysqlStore({ pool: server.pool() }).migrate();
    effects = await createEffects(server.pool());
  });
  afterAll(async () => {
    await server.close();
  });

  /** Releases the pool's connection after `begin` and half of some work. */
  async function leaveOpen(begin: string): Promise<void> {
    pool = server.pool({ connectionLimit: 1 });
    const connection = await pool.getConnection();
    await connection.query(begin);
    await effects.write(connection, "half");
    connection.release();
  }

  describe("with autocommit on", () => {
    beforeEach(() => leaveOpen("START TRANSACTION"));

    it("mysqlTransactions runs no handler on an unfinished connection and commits nothing of it", async () => {
      const store = mysqlTransactions({ pool });
      await expect(store.process("t", mustNotRun, TIMES)).rejects.toThrow(UNFINISHED);
      const work = (tx: Parameters<Effects["write"]>[0]) => effects.write(tx, "t");
      expect(await store.process("t", work, TIMES)).toEqual({ state: "processed" });
      expect(await effects.of("t")).toBe(1);
      expect(await effects.of("half")).toBe(0);
    });

    it("mysqlStore claims nothing on an unfinished connection, and grants the next claim", async () => {
      const store = mysqlStore({ pool });
      const refused = async () => store.claim("claimed", "a", TIMES);
      await expect(refused()).rejects.toThrow(UNFINISHED);
      const fresh = { state: "claimed", takeover: false };
      expect(await store.claim("claimed", "a", TIMES)).toEqual(fresh);
      expect(await mysqlStore({ pool: server.pool() }).claim("claimed", "b", TIMES)).toMatchObject({
        state: "in_flight",
      });
      expect(await effects.of("half")).toBe(0);
    });

    it("mysqlStore rejects a completion on an unfinished connection", async () => {
      const store = mysqlStore({ pool });
      const refused = async () => store.complete("completed", "a", TIMES);
      await expect(refused()).rejects.toThrow(UNFINISHED);
      await store.complete("completed", "a", TIMES);
      expect(await effects.remembered("completed")).toBe(1);
    });
  });

  describe("with autocommit off, where every read leaves a transaction open", () => {
    beforeEach(() => leaveOpen("SET autocommit = 0"));

    it("mysqlTransactions rolls back what other code left, and handles the delivery", async () => {
      const store = mysqlTransactions({ pool });
      const work = (tx: Parameters<Effects["write"]>[0]) => effects.write(tx, "off");
      expect(await store.process("off", work, TIMES)).toEqual({ state: "processed" });
      expect(await effects.of("off")).toBe(1);
      expect(await effects.of("half")).toBe(0);
    });

    it("mysqlStore rolls back what other code left, and commits its own", async () => {
      const store = mysqlStore({ pool });
      const fresh = { state: "claimed", takeover: false };
      expect(await store.claim("claimed off", "a", TIMES)).toEqual(fresh);
      await store.complete("claimed off", "a", TIMES);
      expect(await effects.remembered("claimed off")).toBe(1);
      expect(await effects.of("half")).toBe(0);
    });

    it("migrate() and purge() leave no transaction open", async () => {
      const store = mysqlStore({ pool });
      await store.migrate();
      await store.purge();
      const [rows] = await pool.query("SELECT @@in_transaction AS inTransaction");
      expect(rows).toEqual([{ inTransaction: 0 }]);
      expect(await effects.of("half")).toBe(0);
    });
  });
});
