import { writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { beforeAll, describe, expect, it } from "vitest";
import { postgresTransactions } from "../../../src/stores/postgres/index.js";
import { deferred } from "../../support/deferred.js";
import { describeService } from "../../support/describe-service.js";
import { postgresEngine } from "../../support/postgres/postgres-engine.js";
import { hasPostgres } from "../../support/postgres/postgres-server.js";
import { findProgram, startServer } from "../../support/server-process.js";
import { databaseOf, mustNotRun } from "../../support/stores/sql-engine.js";
import { openSqlPlace } from "../../support/stores/sql-engines.js";
import { testStoreContract } from "../../support/stores/test-store.js";
import { startedForAll } from "../../support/started-for-all.js";
import { COMPLETED, PROCESSED, TIMES } from "../../support/stores/store-cases.js";

/** Fewer than the clients, so that they share server connections. */
const SERVER_CONNECTIONS = 4;

/** Where PgBouncer is: on PATH, or where Debian's package keeps it. */
const binary = findProgram("pgbouncer", "/usr/sbin");

const missing = [
  ...(binary === undefined ? ["pgbouncer"] : []),
  ...(hasPostgres ? [] : ["initdb and postgres"]),
];

/**
 * Starts it on a free port of 127.0.0.1, in transaction mode: a server connection serves one transaction
 * of a client and then the next client.
 */
async function startPgBouncer(postgresPort: number) {
  const behind = `host=127.0.0.1 port=${postgresPort} user=postgres dbname=postgres`;
  // Set by the pooler: a client's startup packet would change the server connection for all clients.
  const serializable = "connect_query='SET default_transaction_isolation TO serializable'";
  const settingsAt = (port: number) => ({
    listen_addr: "127.0.0.1",
    listen_port: port,
    unix_socket_dir: "",
    auth_type: "any",
    admin_users: "postgres",
    pool_mode: "transaction",
    default_pool_size: SERVER_CONNECTIONS,
    max_client_conn: 500,
    // Standard output has it too.
    syslog: 0,
    log_connections: 0,
    log_disconnections: 0,
  });
  const local = { host: "127.0.0.1", user: "postgres" };
  const show = async (port: number, what: string): Promise<Record<string, unknown>[]> => {
    const client = new pg.Client({ ...local, port, database: "pgbouncer" });
    client.on("error", () => undefined);
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(`SHOW ${what}`)).rows;
    } finally {
      await client.end();
    }
  };
  const fileIn = (folder: string) => join(folder, "pgbouncer.ini");
  const { port, close } = await startServer({
    name: "pgbouncer",
    command: binary ?? "pgbouncer",
    prepare(folder, own) {
      const lines = [
        "[databases]",
        `postgres = ${behind}`,
        `serializable = ${behind} ${serializable}`,
        "[pgbouncer]",
        ...Object.entries(settingsAt(own)).map(([name, value]) => `${name} = ${value}`),
      ];
      writeFileSync(fileIn(folder), lines.join("\n"));
    },
    // It refuses to run as root, and reads its settings before it becomes another user.
    args: (_own, folder) => [
      ...(process.getuid?.() === 0 ? ["--user", "postgres"] : []),
      fileIn(folder),
    ],
    answers: async (own) => (await show(own, "VERSION")).length > 0,
  });
  const pools = new Set<pg.Pool>();

  return {
    /** What `SHOW <what>` answers on its console. */
    show: (what: string) => show(port, what),
    /** A pool of connections to it, ended by `close`. Its database `serializable` is the same one, at that isolation level. */
    pool(config: pg.PoolConfig = {}) {
      const pool = new pg.Pool({ ...local, port, database: "postgres", ...config });
      pool.on("error", () => undefined);
      pools.add(pool);
      return pool;
    },
    /** Ends the pools and the process, and removes its folder. */
    async close() {
      for (const pool of pools) void pool.end().catch(() => undefined);
      await close();
    },
  };
}

const absent = missing.length === 0 ? undefined : `not found: ${missing.join(", ")}`;
describeService("PostgreSQL stores through PgBouncer in transaction mode", absent, () => {
  const db = databaseOf(postgresEngine);
  const bouncer = startedForAll(() => startPgBouncer(db.server.port));

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
