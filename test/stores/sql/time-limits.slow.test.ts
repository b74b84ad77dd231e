import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { WebhookReceiver } from "../../../src/index.js";
import { alarmReceiver } from "../../support/alarm-receiver.js";
import { deferred } from "../../support/deferred.js";
import { delivery } from "../../support/deliveries.js";
import { databaseOf, type Sql } from "../../support/stores/sql-engine.js";
import { describeSql } from "../../support/stores/sql-engines.js";
import { transactionalReceiver } from "../../support/transactional/transactional-receiver.js";
import { TIMES, verbsOf } from "../../support/stores/store-cases.js";

const LONG = { dependencyTimeoutMs: 30_000, leaseMs: 60_000 };

describeSql("the time limit of a call", (engine) => {
  const isMysql = engine.name === "MySQL";
  const db = databaseOf(engine);
  const lock = (table: string) => engine.lockTable(db.server.pool({ max: 1 }), table);

  /** A pool that counts the connections that it makes. */
  function countingPool() {
    const pool = db.server.pool({ max: 1 });
    const counted = { pool, made: 0 };
    const emitter = (isMysql ? (pool as unknown as { pool: unknown }).pool : pool) as {
      on(event: string, listener: () => void): void;
    };
    emitter.on(isMysql ? "connection" : "connect", () => (counted.made += 1));
    return counted;
  }

  describe.concurrent("the time limit is the receiver's dependencyTimeoutMs", () => {
    it.each<[string, string, (pool: Sql, table: string) => WebhookReceiver]>([
      [
        "leases, of which the receiver with the longest counts",
        "long_leases",
        (pool, table) => {
          const store = engine.makeStore(pool, { table });
          const [, longest] = [300, 30_000, 200].map((dependencyTimeoutMs) =>
            alarmReceiver(() => undefined, { ...LONG, store, dependencyTimeoutMs }),
          );
          return longest ?? expect.fail("there are three receivers");
        },
      ],
      [
        "transactions",
        "long_transactions",
        (pool, table) =>
          transactionalReceiver(engine.makeTransactions(pool, { table }), () => undefined, LONG),
      ],
    ])(
      `a call of 11 s succeeds with a dependencyTimeoutMs of 30 s, with %s on ${engine.name}`,
      async (_name, table, makeReceiver) => {
        await engine.makeStore(db.pool, { table }).migrate();
        const receiver = makeReceiver(db.server.pool(), table);
        const unlock = await lock(table);
        const answer = receiver.receive(await delivery({ id: "patient" }));
        await wait(11_000);
        await unlock();
        expect(await answer).toMatchObject({ status: 200, outcome: "handled" });
      },
    );
  });

  it(`the ${engine.name} server ends a statement in time, and the connection is kept`, async () => {
    const counted = countingPool();
    const impatient = engine.makeStore(counted.pool);
    alarmReceiver(() => undefined, { store: impatient, dependencyTimeoutMs: 300 });
    // On a busy machine a connection may need longer than the limit, so it is opened before.
    await engine.rows(counted.pool, "SELECT 1");
    const unlock = await lock("gateway_deliveries");
    for (const key of ["first", "second"]) {
      await expect(impatient.claim(key, "a", TIMES)).rejects.toMatchObject(
        isMysql ? { errno: 1969 } : { code: "57014" },
      );
    }
    await unlock();
    const { claimed } = verbsOf(engine.makeStore(counted.pool));
    await claimed("first", "b");
    await claimed("second", "b");
    expect(counted.made).toBe(1);
  });

  it(`the time limit spares the handler's statements in ${engine.name}`, async () => {
    const set = isMysql ? "SET max_statement_time = 77" : "SET statement_timeout = '77s'";
    const show = isMysql
      ? "SELECT @@max_statement_time AS own"
      : "SELECT current_setting('statement_timeout') AS own";
    const own = [{ own: isMysql ? 77 : "77s" }];
    const pool = db.server.pool({ max: 1, session: set });
    const store = engine.makeTransactions(pool);
    let limit: unknown;
    const work = async (tx: Sql) => {
      limit = await engine.rows(tx, show);
    };
    await store.process("limits", work, TIMES);
    expect(limit).toEqual(own);
    expect(await engine.rows(pool, show)).toEqual(own);
    if (isMysql) return;
    const check = "SELECT current_setting('client_connection_check_interval') AS value";
    expect(await engine.rows(pool, check)).toEqual([{ value: "0" }]);
  });

  it.each([
    ["in sleep", isMysql ? "SELECT SLEEP(120)" : "SELECT pg_sleep(120)"],
    ["for a lock", "INSERT INTO given_up VALUES (1)"],
  ])(
    `a given-up handler that waits %s in ${engine.name} is rolled back and frees its connection`,
    async (how, statement) => {
      await db.pool.query("CREATE TABLE IF NOT EXISTS given_up (id int)");
      const unlock = await lock("given_up");
      const user = `given_up_${how.replaceAll(" ", "_")}`;
      await engine.createUser(db.pool, user);
      const connections = () => engine.connectionsOf(db.pool, user);
      const pool = db.server.pool({ max: 2, user });
      const store = engine.makeTransactions(pool);
      transactionalReceiver(store, () => undefined, { dependencyTimeoutMs: 1_000 });
      const giveUp = deferred();
      const late: unknown[] = [];
      const keys = ["one", "two"].map((key) => `${user} ${key}`);
      const runs = keys.map((key) =>
        store.process(
          key,
          async (tx) => {
            await db.effects.write(tx, user);
            // The handler itself never settles.
            tx.query(statement).catch((error: unknown) => late.push(error));
            await giveUp.promise;
            if (!isMysql) tx.query("SELECT 1").catch((error: unknown) => late.push(error));
            throw new Error("given up");
          },
          TIMES,
        ),
      );
      const rejections = runs.map((run) => expect(run).rejects.toThrow("given up"));
      await expect.poll(connections).toBe(2);
      let most = 0;
      const over = new AbortController();
      const watched = (async () => {
        while (!over.signal.aborted) {
          most = Math.max(most, await connections());
          await wait(20);
        }
      })();
      giveUp.resolve();
      await Promise.all(rejections);
      // A redelivery finds no locks: PostgreSQL has ended both by now, and MySQL has been told to.
      for (const key of keys) {
        const again = (tx: Sql) => db.effects.write(tx, `${user} again`);
        const state = async () => (await store.process(key, again, TIMES)).state;
        if (isMysql) await expect.poll(state).toBe("processed");
        else expect(await state()).toBe("processed");
      }
      over.abort();
      await watched;
      await expect.poll(connections).toBeLessThanOrEqual(2);
      await unlock();
      if (!isMysql) {
        expect(most).toBe(2);
        expect(pool).toHaveProperty("idleCount", engine.openIn(pool));
      }
      expect(await db.effects.of(user)).toBe(0);
      expect(await db.effects.of(`${user} again`)).toBe(2);
      await expect.poll(() => late.length).toBe(isMysql ? 2 : 4);
    },
  );
});
