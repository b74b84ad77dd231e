import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { describeService } from "../describe-service.js";
import { freePort } from "../free-port.js";
import { findProgram } from "../server-process.js";
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
  const folder = mkdtempSync(join(tmpdir(), "pgbouncer-"));
  const port = await freePort();
  const settings = {
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
  };
  const behind = `host=127.0.0.1 port=${postgresPort} user=${user} dbname=postgres`;
  // Set by the pooler: a client's startup packet would change the server connection for all clients.
  const serializable = "connect_query='SET default_transaction_isolation TO serializable'";
  const file = join(folder, "pgbouncer.ini");
  writeFileSync(
    file,
    [
      "[databases]",
      `postgres = ${behind}`,
      `serializable = ${behind} ${serializable}`,
      "[pgbouncer]",
      ...Object.entries(settings).map(([name, value]) => `${name} = ${value}`),
    ].join("\n"),
  );

  // It refuses to run as root, and reads its settings before it becomes another user.
  const runAs = process.getuid?.() === 0 ? ["--user", "postgres"] : [];
  const child = spawn(binary ?? "pgbouncer", [...runAs, file], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = once(child, "exit");
  let log = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => (log += chunk.toString()));
  }

  const connection = { host: "127.0.0.1", port, user: "postgres", database: "postgres" };
  const pools = new Set<pg.Pool>();
  const show = async (what: string): Promise<Record<string, unknown>[]> => {
    const client = new pg.Client({ ...connection, database: "pgbouncer" });
    client.on("error", () => undefined);
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(`SHOW ${what}`)).rows;
    } finally {
      await client.end();
    }
  };
  while ((await show("VERSION").catch(() => undefined)) === undefined) {
    if (child.exitCode !== null) throw new Error(`pgbouncer ended before it answered: ${log}`);
    await wait(20);
  }

  return {
    /** What `SHOW <what>` answers on its console. */
    show,
    /** A pool of connections to it, ended by `close`. Its database `serializable` is the same one, at that isolation level. */
    pool(config = {}) {
      const pool = new pg.Pool({ ...connection, ...config });
      pool.on("error", () => undefined);
      pools.add(pool);
      return pool;
    },
    /** Ends the pools and the process, and removes its folder. */
    async close() {
      child.kill("SIGKILL");
      await exited;
      for (const pool of pools) void pool.end().catch(() => undefined);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
