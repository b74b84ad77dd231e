import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Pool, PoolConnection } from "mysql2/promise";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { mysqlTransactions } from "../../../src/stores/mysql/index.js";
import { delivery } from "../../support/deliveries.js";
import { describeMysql } from "../../support/mysql/mysql-describe.js";
import { createEffects, mustNotRun, type Effects } from "../../support/mysql/mysql-effects.js";
import { startMysql, type MysqlServer } from "../../support/mysql/mysql-server.js";
import { transactionalReceiver } from "../../support/transactional/transactional-receiver.js";

const RETENTION = { retentionMs: 3_600_000 };
const PROCESSED = { state: "processed" };

describeMysql("mysqlTransactions on faults", () => {
  let server: MysqlServer;
  let pool: Pool;
  let effects: Effects;

  beforeAll(async () => {
    server = await startMysql();
    pool = server.pool();
    await mysqlTransactions({ pool }).migrate();
    effects = await createEffects(pool);
  });
  afterAll(async () => {
    await server.close();
  });

  /** Processes `key` again while the server has not noticed the end of an earlier transaction. */
  async function processLater(key: string): Promise<string> {
    const store = mysqlTransactions({ pool });
    for (;;) {
      const { state } = await store.process(key, (tx) => effects.write(tx, key), RETENTION);
      if (state !== "in_flight") return state;
      await pool.query("DO SLEEP(0.02)");
    }
  }

  async function expectNothingOf(key: string): Promise<void> {
    expect(await effects.of(key)).toBe(0);
    expect(await effects.remembered(key)).toBe(0);
  }

  it("a transaction of a killed process leaves neither key nor effect", async () => {
    const script = fileURLToPath(
      new URL("../../support/mysql/mysql-killed-handler.ts", import.meta.url),
    );
    const args = ["--import", "tsx", script, String(server.port), "killed"];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    expect(line.toString()).toBe("written\n");
    const duplicate = await mysqlTransactions({ pool }).process("killed", mustNotRun, RETENTION);
    expect(duplicate).toMatchObject({ state: "in_flight" });
    child.kill("SIGKILL");
    await once(child, "exit");
    await expectNothingOf("killed");
    expect(await processLater("killed")).toBe("processed");
    expect(await effects.of("killed")).toBe(1);
  });

  it("a transaction on a server that crashes leaves neither key nor effect, and its connection is closed", async () => {
    const other = await startMysql();
    try {
      const otherPool = other.pool({ connectionLimit: 1 });
      const store = mysqlTransactions({ pool: otherPool });
      await store.migrate();
      const written = await createEffects(otherPool);
      const work = (tx: PoolConnection) => written.write(tx, "k");
      for (const mode of ["crash", "orderly"] as const) {
        const lost = store.process(
          "k",
          async (tx) => {
            await work(tx);
            await other.stop(mode);
          },
          RETENTION,
        );
        await expect(lost).rejects.toThrow();
        await other.start();
        expect(await written.of("k")).toBe(0);
        expect(await written.remembered("k")).toBe(0);
      }
      expect(await store.process("k", work, RETENTION)).toEqual(PROCESSED);
      expect(await written.of("k")).toBe(1);
    } finally {
      await other.close();
    }
  });

  it("a transaction whose connection breaks rejects at once and aborts context.signal", async () => {
    let aborted: unknown;
    const store = mysqlTransactions({ pool });
    const receiver = transactionalReceiver(store, async ({ id, tx, signal }) => {
      await effects.write(tx, id);
      const lost = once(signal, "abort");
      await pool.query(`KILL ${String(tx.threadId)}`);
      await lost;
      aborted = signal.reason;
      await expect(tx.query("SELECT 1")).rejects.toThrow("after the handler had settled");
    });
    const response = await receiver.receive(await delivery({ id: "broken" }));
    expect(response).toMatchObject({ status: 503, outcome: "store_unavailable" });
    expect(aborted).toMatchObject({ name: "TransactionLostError" });
    await expectNothingOf("broken");
    expect(await processLater("broken")).toBe("processed");
  });

  it("a transaction that loses a deadlock rejects, and what the handler writes afterwards is undone", async () => {
    await pool.query("CREATE TABLE balances (name varchar(9) PRIMARY KEY, amount int)");
    await pool.query("INSERT INTO balances VALUES ('a', 1), ('b', 1)");
    const store = mysqlTransactions({ pool });
    const haveFirst = new Set<string>();
    let runs = 0;
    const cross = async (tx: PoolConnection, key: string): Promise<void> => {
      runs += 1;
      const lock = (name: string) =>
        tx.query("SELECT amount FROM balances WHERE name = ? FOR UPDATE", [name]);
      await lock(key);
      haveFirst.add(key);
      await vi.waitUntil(() => haveFirst.size === 2, { timeout: 20_000 });
      // The handler drops the error, and its later statements have been sent already.
      await Promise.allSettled([
        lock(key === "a" ? "b" : "a"),
        effects.write(tx, key),
        effects.write(tx, key),
      ]);
      await effects.write(tx, key);
    };
    const results = await Promise.allSettled(
      ["a", "b"].map((key) => store.process(key, (tx) => cross(tx, key), RETENTION)),
    );
    expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const rejected = results.find((result) => result.status === "rejected");
    expect(rejected?.reason).toMatchObject({
      code: "transaction_aborted",
      cause: { code: "ER_LOCK_DEADLOCK" },
    });
    expect(runs).toBe(2);
    const loser = results[0]?.status === "rejected" ? "a" : "b";
    await expectNothingOf(loser);
    expect(await processLater(loser)).toBe("processed");
  });

  it("a transaction goes on after a lock wait time-out that its handler catches, as in MySQL", async () => {
    const impatient = server.pool();
    impatient.pool.on("connection", (connection) => {
      connection.query("SET innodb_lock_wait_timeout = 0");
    });
    const stranger = await pool.getConnection();
    await stranger.query("CREATE TABLE contended (id int PRIMARY KEY)");
    await stranger.query("INSERT INTO contended VALUES (1)");
    await stranger.query("START TRANSACTION");
    await stranger.query("SELECT * FROM contended FOR UPDATE");
    const result = await mysqlTransactions({ pool: impatient }).process(
      "waited",
      async (tx) => {
        await effects.write(tx, "waited");
        await expect(tx.query("DELETE FROM contended")).rejects.toHaveProperty("errno", 1205);
        await effects.write(tx, "waited");
      },
      RETENTION,
    );
    await stranger.query("ROLLBACK");
    stranger.release();
    expect(result).toEqual(PROCESSED);
    expect(await effects.of("waited")).toBe(2);
  });

  it("a transaction that the server rolls back at a lock wait time-out rejects and keeps nothing", async () => {
    const other = await startMysql({
      "innodb-rollback-on-timeout": "ON",
      "innodb-lock-wait-timeout": "1",
    });
    try {
      const otherPool = other.pool();
      const store = mysqlTransactions({ pool: otherPool });
      await store.migrate();
      const written = await createEffects(otherPool);
      await otherPool.query("CREATE TABLE contended (id int PRIMARY KEY)");
      await otherPool.query("INSERT INTO contended VALUES (1)");
      const stranger = await otherPool.getConnection();
      await stranger.query("START TRANSACTION");
      await stranger.query("SELECT * FROM contended FOR UPDATE");
      const lost = store.process(
        "k",
        async (tx) => {
          await written.write(tx, "k");
          await tx.query("DELETE FROM contended").catch(() => undefined);
          await written.write(tx, "k");
        },
        RETENTION,
      );
      await expect(lost).rejects.toMatchObject({
        code: "transaction_aborted",
        cause: { code: "ER_LOCK_WAIT_TIMEOUT" },
      });
      expect(await written.of("k")).toBe(0);
      expect(await written.remembered("k")).toBe(0);
    } finally {
      await other.close();
    }
  });
});
