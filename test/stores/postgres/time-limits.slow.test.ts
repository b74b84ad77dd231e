import { setTimeout as wait } from "node:timers/promises";
import type pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postgresStore, postgresTransactions } from "../../../src/stores/postgres/index.js";
import { alarmReceiver } from "../../support/alarm-receiver.js";
import { deferred } from "../../support/deferred.js";
import { delivery } from "../../support/deliveries.js";
import { describePostgres } from "../../support/postgres/postgres-describe.js";
import { createEffects, type Effects } from "../../support/postgres/postgres-effects.js";
import { startPostgres, type PostgresServer } from "../../support/postgres/postgres-server.js";
import { transactionalReceiver } from "../../support/transactional/transactional-receiver.js";

const TIMES = { leaseMs: 30_000, retentionMs: 3_600_000 };
const CLAIMED = { state: "claimed", takeover: false };
const CHECK = "client_connection_check_interval";

/** Makes a pool's server look like one before PostgreSQL 14, which does not have the setting. */
function beforePostgres14(pool: pg.Pool): pg.Pool {
  return pool.on("connect", (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    client.query = ((text: unknown, ...rest: unknown[]) =>
      query(
        typeof text === "string" ? text.replaceAll(CHECK, `no_${CHECK}`) : text,
        ...rest,
      )) as typeof client.query;
  });
}

describePostgres("the time limit of a call to a PostgreSQL store", () => {
  let server: PostgresServer;
  let admin: pg.Pool;
  let effects: Effects;

  beforeAll(async () => {
    server = await startPostgres();
    admin = server.pool({ application_name: "admin" });
    await postgresStore({ pool: admin }).migrate();
    effects = await createEffects(admin);
  });
  afterAll(async () => {
    await server.close();
  });

  /** Locks `table` until the returned function is called. */
  async function lock(table: string): Promise<() => Promise<void>> {
    const stranger = await admin.connect();
    await stranger.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
    return async () => {
      await stranger.query("ROLLBACK");
      stranger.release();
    };
  }

  /** How many connections of this name the server has. */
  async function connectionsOf(name: string): Promise<number> {
    const { rowCount } = await admin.query(
      "SELECT FROM pg_stat_activity WHERE application_name = $1",
      [name],
    );
    return rowCount ?? 0;
  }

  describe.concurrent("the time limit is the receiver's dependencyTimeoutMs", () => {
    const LONG = { dependencyTimeoutMs: 30_000, leaseMs: 60_000 };

    it.each([
      [
        "leases",
        (pool: pg.Pool, table: string) =>
          alarmReceiver(() => undefined, { ...LONG, store: postgresStore({ pool, table }) }),
      ],
      [
        "transactions",
        (pool: pg.Pool, table: string) =>
          transactionalReceiver(postgresTransactions({ pool, table }), () => undefined, LONG),
      ],
    ])(
      "a call that waits for 11 s is answered with a dependencyTimeoutMs of 30 s, with %s",
      async (name, makeReceiver) => {
        const table = `long_${name}`;
        await postgresStore({ pool: admin, table }).migrate();
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
      await postgresStore({ pool: admin, table }).migrate();
      const store = postgresStore({ pool: server.pool(), table });
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
    const pool = server.pool({ max: 1 });
    const store = postgresStore({ pool });
    alarmReceiver(() => undefined, { store, dependencyTimeoutMs: 300 });
    let removed = 0;
    pool.on("remove", () => (removed += 1));
    const unlock = await lock("gateway_deliveries");
    for (const key of ["first", "second"]) {
      await expect(store.claim(key, "a", TIMES)).rejects.toHaveProperty("code", "57014");
    }
    await unlock();
    expect(await store.claim("first", "b", TIMES)).toEqual(CLAIMED);
    expect(await store.claim("second", "b", TIMES)).toEqual(CLAIMED);
    expect(removed).toBe(0);
  });

  it("the time limit does not apply to the handler's statements; the application's own limit stays", async () => {
    const pool = server.pool({ max: 1 });
    pool.on("connect", (client) => void client.query("SET statement_timeout = '77s'"));
    const store = postgresTransactions({ pool });
    let limit: unknown;
    const work = async (tx: pg.PoolClient): Promise<void> => {
      limit = (await tx.query("SHOW statement_timeout")).rows;
    };
    await store.process("limits", work, TIMES);
    expect(limit).toEqual([{ statement_timeout: "77s" }]);
    const { rows } = await pool.query(`SHOW statement_timeout`);
    expect(rows).toEqual([{ statement_timeout: "77s" }]);
    expect((await pool.query(`SHOW ${CHECK}`)).rows).toEqual([{ [CHECK]: "0" }]);
  });

  it("the time limit works on a server that cannot notice closed connections", async () => {
    const store = postgresStore({ pool: beforePostgres14(server.pool()) });
    expect(await store.claim("old", "a", TIMES)).toEqual(CLAIMED);
    await store.complete("old", "a", TIMES);
    const transactions = postgresTransactions({ pool: beforePostgres14(server.pool()) });
    const work = (tx: pg.PoolClient) => effects.write(tx, "old transaction");
    expect(await transactions.process("old transaction", work, TIMES)).toEqual({
      state: "processed",
    });
    expect(await effects.of("old transaction")).toBe(1);
  });

  describe("a handler that is given up", () => {
    it.each([
      ["in pg_sleep", "SELECT pg_sleep(120)"],
      ["in a lock", "INSERT INTO given_up VALUES (1)"],
    ])(
      "a given-up handler whose statement waits %s is rolled back, and its connection is free again",
      async (how, statement) => {
        await admin.query("CREATE TABLE IF NOT EXISTS given_up (id int)");
        const unlock = await lock("given_up");
        const name = `given up ${how}`;
        const pool = server.pool({ max: 2, application_name: name });
        const store = postgresTransactions({ pool });
        transactionalReceiver(store, () => undefined, { dependencyTimeoutMs: 1_000 });
        const giveUp = deferred();
        const late: unknown[] = [];
        let most = 0;
        const over = new AbortController();
        const watched = (async () => {
          while (!over.signal.aborted) {
            most = Math.max(most, await connectionsOf(name));
            await wait(20);
          }
        })();
        const runs = ["one", "two"].map((key) =>
          store.process(
            `${name} ${key}`,
            async (tx) => {
              await effects.write(tx, name);
              // The handler itself never settles.
              tx.query(statement).catch((error: unknown) => late.push(error));
              await giveUp.promise;
              tx.query("SELECT 1").catch((error: unknown) => late.push(error));
              throw new Error("given up");
            },
            TIMES,
          ),
        );
        const rejections = runs.map((run) => expect(run).rejects.toThrow("given up"));
        await expect.poll(() => connectionsOf(name)).toBe(2);
        giveUp.resolve();
        await Promise.all(rejections);
        // The server has ended both by now, so a redelivery finds no locks.
        for (const key of ["one", "two"]) {
          const work = (tx: pg.PoolClient) => effects.write(tx, `${name} again`);
          expect(await store.process(`${name} ${key}`, work, TIMES)).toEqual({
            state: "processed",
          });
        }
        over.abort();
        await watched;
        await unlock();
        expect(most).toBe(2);
        expect(pool.idleCount).toBe(pool.totalCount);
        expect(late).toHaveLength(4);
        expect(await effects.of(name)).toBe(0);
        expect(await effects.of(`${name} again`)).toBe(2);
      },
    );
  });
});
