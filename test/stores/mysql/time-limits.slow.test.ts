import { setTimeout as wait } from "node:timers/promises";
import type { Pool, PoolConnection, RowDataPacket } from "mysql2/promise";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { mysqlStore, mysqlTransactions } from "../../../src/stores/mysql/index.js";
import { alarmReceiver } from "../../support/alarm-receiver.js";
import { deferred } from "../../support/deferred.js";
import { delivery } from "../../support/deliveries.js";
import { describeMysql } from "../../support/mysql/mysql-describe.js";
import { createEffects, type Effects } from "../../support/mysql/mysql-effects.js";
import { startMysql, type MysqlServer } from "../../support/mysql/mysql-server.js";
import { transactionalReceiver } from "../../support/transactional/transactional-receiver.js";

const TIMES = { leaseMs: 30_000, retentionMs: 3_600_000 };
const CLAIMED = { state: "claimed", takeover: false };

describeMysql("the time limit of a call to a MySQL store", () => {
  let server: MysqlServer;
  let admin: Pool;
  let effects: Effects;

  beforeAll(async () => {
    server = await startMysql();
    admin = server.pool();
    await mysqlStore({ pool: admin }).migrate();
    effects = await createEffects(admin);
  });
  afterAll(async () => {
    await server.close();
  });

  /** Locks `table` until the returned function is called. */
  async function lock(table: string): Promise<() => Promise<void>> {
    const stranger = await server.pool({ connectionLimit: 1 }).getConnection();
    await stranger.query(`LOCK TABLES ${table} WRITE`);
    return async () => {
      await stranger.query("UNLOCK TABLES");
    };
  }

  describe.concurrent("the time limit is the receiver's dependencyTimeoutMs", () => {
    const LONG = { dependencyTimeoutMs: 30_000, leaseMs: 60_000 };

    it.each([
      [
        "leases",
        (pool: Pool, table: string) =>
          alarmReceiver(() => undefined, { ...LONG, store: mysqlStore({ pool, table }) }),
      ],
      [
        "transactions",
        (pool: Pool, table: string) =>
          transactionalReceiver(mysqlTransactions({ pool, table }), () => undefined, LONG),
      ],
    ])(
      "a call that waits for 11 s is answered with a dependencyTimeoutMs of 30 s, with %s",
      async (name, makeReceiver) => {
        const table = `long_${name}`;
        await mysqlStore({ pool: admin, table }).migrate();
        const receiver = makeReceiver(server.pool(), table);
        const unlock = await lock(table);
        const answer = receiver.receive(await delivery({ id: "patient" }));
        await wait(11_000);
        await unlock();
        expect(await answer).toMatchObject({ status: 200, outcome: "handled" });
      },
    );

    it("the largest dependencyTimeoutMs applies if several receivers share a store", async () => {
      const table = "shared";
      await mysqlStore({ pool: admin, table }).migrate();
      const store = mysqlStore({ pool: server.pool(), table });
      for (const dependencyTimeoutMs of [300, 30_000, 200]) {
        alarmReceiver(() => undefined, { store, dependencyTimeoutMs });
      }
      const unlock = await lock(table);
      const claim = store.claim("k", "a", TIMES);
      await wait(4_000);
      await unlock();
      expect(await claim).toEqual(CLAIMED);
    });
  });

  it("the server ends a statement at the time limit, and the connection is kept", async () => {
    const pool = server.pool({ connectionLimit: 1 });
    const store = mysqlStore({ pool });
    alarmReceiver(() => undefined, { store, dependencyTimeoutMs: 300 });
    let opened = 0;
    pool.pool.on("connection", () => (opened += 1));
    const unlock = await lock("gateway_deliveries");
    for (const key of ["first", "second"]) {
      await expect(store.claim(key, "a", TIMES)).rejects.toHaveProperty("errno", 1969);
    }
    await unlock();
    expect(await store.claim("first", "b", TIMES)).toEqual(CLAIMED);
    expect(await store.claim("second", "b", TIMES)).toEqual(CLAIMED);
    expect(opened).toBe(1);
  });

  it("the time limit does not apply to the handler's statements; the application's own limit stays", async () => {
    const pool = server.pool({ connectionLimit: 1 });
    pool.pool.on("connection", (connection) => {
      connection.query("SET max_statement_time = 77");
    });
    const store = mysqlTransactions({ pool });
    const limitOn = async (on: Pick<PoolConnection, "query">) =>
      (await on.query<RowDataPacket[]>("SELECT @@max_statement_time AS seconds"))[0];
    let limit: unknown;
    const work = async (tx: PoolConnection): Promise<void> => {
      limit = await limitOn(tx);
    };
    await store.process("limits", work, TIMES);
    expect(limit).toEqual([{ seconds: 77 }]);
    expect(await limitOn(pool)).toEqual([{ seconds: 77 }]);
  });

  describe("a handler that is given up", () => {
    it.each([
      ["in SLEEP", "SELECT SLEEP(120)"],
      ["for a lock", "INSERT INTO given_up VALUES (1)"],
    ])(
      "a given-up handler whose statement waits %s is rolled back, and its connection is free again",
      async (how, statement) => {
        await admin.query("CREATE TABLE IF NOT EXISTS given_up (id int)");
        const unlock = await lock("given_up");
        const user = `given_up_${how.replaceAll(" ", "_")}`;
        await admin.query(`CREATE USER ${user}`);
        await admin.query(`GRANT ALL ON *.* TO ${user}`);
        const connections = async (): Promise<number> => {
          const [rows] = await admin.query<RowDataPacket[]>(
            "SELECT 1 FROM information_schema.processlist WHERE user = ?",
            [user],
          );
          return rows.length;
        };
        const pool = server.pool({ connectionLimit: 2, user });
        const store = mysqlTransactions({ pool });
        transactionalReceiver(store, () => undefined, { dependencyTimeoutMs: 1_000 });
        const giveUp = deferred();
        const late: unknown[] = [];
        const runs = ["one", "two"].map((key) =>
          store.process(
            `${user} ${key}`,
            async (tx) => {
              await effects.write(tx, user);
              // The handler itself never settles.
              tx.query(statement).catch((error: unknown) => late.push(error));
              await giveUp.promise;
              throw new Error("given up");
            },
            TIMES,
          ),
        );
        const rejections = runs.map((run) => expect(run).rejects.toThrow("given up"));
        await expect.poll(connections).toBe(2);
        giveUp.resolve();
        await Promise.all(rejections);
        // The server has been told to end both, so a redelivery finds no locks.
        for (const key of ["one", "two"]) {
          const work = (tx: PoolConnection) => effects.write(tx, `${user} again`);
          await expect
            .poll(async () => (await store.process(`${user} ${key}`, work, TIMES)).state)
            .toBe("processed");
        }
        await expect.poll(connections).toBeLessThanOrEqual(2);
        await unlock();
        expect(await effects.of(user)).toBe(0);
        expect(await effects.of(`${user} again`)).toBe(2);
        await expect.poll(() => late.length).toBe(2);
      },
    );
  });
});
