import type pg from "pg";
import { beforeAll, describe, expect, it } from "vitest";
import { postgresTransactions } from "../../../src/stores/postgres/index.js";
import { deferred } from "../../support/deferred.js";
import { describePgBouncer, startPgBouncer } from "../../support/postgres/pgbouncer.js";
import { postgresEngine } from "../../support/postgres/postgres-engine.js";
import { databaseOf, mustNotRun } from "../../support/stores/sql-engine.js";
import { openSqlPlace } from "../../support/stores/sql-engines.js";
import { testStoreContract } from "../../support/stores/test-store.js";
import { startedForAll } from "../../support/started-for-all.js";
import { COMPLETED, PROCESSED, TIMES } from "../../support/stores/store-cases.js";

/** Fewer than the clients, so that they share server connections. */
const SERVER_CONNECTIONS = 4;

describePgBouncer("PostgreSQL stores through PgBouncer in transaction mode", () => {
  const db = databaseOf(postgresEngine);
  const bouncer = startedForAll(() => startPgBouncer(db.server.port, SERVER_CONNECTIONS));

  /** The process id of the client's current server connection. */
  async function backendOf(client: pg.ClientBase): Promise<unknown> {
    const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
    return rows[0]?.pid;
  }

  describe.each([
    ["postgres", true],
    ["serializable", false],
  ])("the store keeps the contract in the database %s, with prepare: %s", (database, prepare) => {
    let pools: [pg.Pool, pg.Pool];

    beforeAll(() => {
      pools = [bouncer().pool({ database, max: 20 }), bouncer().pool({ database, max: 20 })];
    });

    // The tables are in the database of the pools, so their rows are moved through them.
    const makeStore = () => openSqlPlace(postgresEngine, pools, pools[0], prepare);
    const abilities = ["forgets", "purge", "transactions"] as const;
    testStoreContract(makeStore, { abilities, leaseMs: 600, sequences: 500 });

    it("PgBouncer keeps the isolation level of the database", async () => {
      const { rows } = await pools[0].query("SHOW transaction_isolation");
      const level = database === "serializable" ? "serializable" : "read committed";
      expect(rows).toEqual([{ transaction_isolation: level }]);
    });

    it("PgBouncer opened no more server connections than its pool size", async () => {
      const [row] = (await bouncer().show("DATABASES")).filter(({ name }) => name === database);
      expect(Number(row?.["current_connections"])).toBeGreaterThan(1);
      expect(Number(row?.["current_connections"])).toBeLessThanOrEqual(SERVER_CONNECTIONS);
      const clients = pools.map(({ totalCount }) => totalCount);
      expect(Math.max(...clients)).toBeGreaterThan(SERVER_CONNECTIONS);
    });
  });

  describe("transactions", () => {
    it("through PgBouncer a duplicate is answered at once and no lock stays", async () => {
      const [store, other] = [bouncer().pool(), bouncer().pool()].map((pool) =>
        postgresTransactions({ pool }),
      );
      const [started, end] = [deferred<unknown>(), deferred()];
      const first = store?.process(
        "copied",
        async (tx) => {
          await db.effects.write(tx, "copied");
          started.resolve(await backendOf(tx));
          await end.promise;
          throw new Error("fails in the end");
        },
        TIMES,
      );
      const backend = await started.promise;
      expect(await other?.process("copied", mustNotRun, TIMES)).toMatchObject({
        state: "in_flight",
      });
      end.resolve();
      await expect(first).rejects.toThrow("fails in the end");
      expect(await db.effects.remembered("copied")).toBe(0);
      // The next client gets another server connection, and would see a lock that the session holds.
      const holder = await bouncer().pool().connect();
      await holder.query("BEGIN");
      expect(await backendOf(holder)).toBe(backend);
      const work = (tx: pg.PoolClient) => db.effects.write(tx, "copied");
      expect(await other?.process("copied", work, TIMES)).toEqual(PROCESSED);
      await holder.query("ROLLBACK");
      holder.release();
      expect(await store?.process("copied", mustNotRun, TIMES)).toEqual(COMPLETED);
      expect(await db.effects.of("copied")).toBe(1);
    });
  });
});
