import { writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { describeService } from "../describe-service.js";
import { findProgram, startServer } from "../server-process.js";
import { hasPostgres } from "./postgres-server.js";

/** Where PgBouncer is: on PATH, or where Debian's package keeps it. */
const binary = findProgram("pgbouncer", "/usr/sbin");

/** `describe` for tests that start PgBouncer and the PostgreSQL server behind it. */
export function describePgBouncer(title: string, body: () => void): void {
  const missing = [
    ...(binary === undefined ? ["pgbouncer"] : []),
    ...(hasPostgres ? [] : ["initdb and postgres"]),
  ];
  const message = `not found: ${missing.join(", ")}`;
  describeService(title, missing.length === 0 ? undefined : message, body);
}

/**
 * Starts it on a free port of 127.0.0.1, in transaction mode: a server connection serves one transaction
 * of a client and then the next client. `serverConnections` is the number of server connections, `user` their user.
 */
export async function startPgBouncer(
  postgresPort: number,
  serverConnections: number,
  user = "postgres",
) {
  const behind = `host=127.0.0.1 port=${postgresPort} user=${user} dbname=postgres`;
  // Set by the pooler: a client's startup packet would change the server connection for all clients.
  const serializable = "connect_query='SET default_transaction_isolation TO serializable'";
  const settingsAt = (port: number) => ({
    listen_addr: "127.0.0.1",
    listen_port: port,
    unix_socket_dir: "",
    auth_type: "any",
    admin_users: "postgres",
    pool_mode: "transaction",
    default_pool_size: serverConnections,
    max_client_conn: 500,
    // Standard output has it too.
    syslog: 0,
    log_connections: 0,
    log_disconnections: 0,
  });
  const connectionAt = (port: number) => ({
    host: "127.0.0.1",
    port,
    user: "postgres",
    database: "postgres",
  });
  const show = async (port: number, what: string): Promise<Record<string, unknown>[]> => {
    const client = new pg.Client({ ...connectionAt(port), database: "pgbouncer" });
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
    pool(config = {}) {
      const pool = new pg.Pool({ ...connectionAt(port), ...config });
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
