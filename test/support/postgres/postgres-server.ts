import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import pg from "pg";
import { startDatabase, type DatabaseServer } from "../database-server.js";
import { findProgram } from "../server-process.js";

/** A PostgreSQL server. Its pools ignore the errors of idle connections. */
export type PostgresServer = DatabaseServer<pg.Pool, pg.PoolConfig>;

const DEBIAN = "/usr/lib/postgresql";
const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN) : [];
const postgres = findProgram("postgres", ...versions.map((name) => join(DEBIAN, name, "bin")));
const initdb = postgres === undefined ? undefined : join(dirname(postgres), "initdb");
const basebackup = findProgram("pg_basebackup", dirname(initdb ?? ""));

/** Whether `initdb` and `postgres` are on this machine. */
export const hasPostgres = initdb !== undefined && existsSync(initdb);

/**
 * Starts a server. `settings`: of postgresql.conf. With `primaryPort` it is a standby: a copy of the server at that
 * port, which goes on with its stream if `settings` have a `primary_conninfo`.
 */
export function startPostgres(
  settings: Readonly<Record<string, string>> = {},
  primaryPort?: number,
): Promise<PostgresServer> {
  const connectionAt = (port: number) => ({
    host: "127.0.0.1",
    port,
    user: "postgres",
    database: "postgres",
  });
  return startDatabase({
    name: "postgres",
    user: "postgres",
    command: postgres ?? "postgres",
    args(port, folder) {
      const all = {
        port: String(port),
        listen_addresses: "127.0.0.1",
        unix_socket_directories: "",
        // Commits survive a crash of the server without fsync. A crash of the machine is not tested.
        fsync: "off",
        max_connections: "200",
        ...settings,
      };
      const given = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
      return ["-D", join(folder, "data"), ...given];
    },
    install: (folder) => [
      initdb ?? "initdb",
      `--pgdata=${join(folder, "data")}`,
      "--username=postgres",
      "--auth=trust",
      "--encoding=UTF8",
      "--no-sync",
      "--no-locale",
    ],
    copyOf:
      primaryPort === undefined
        ? undefined
        : (folder) => [
            basebackup ?? "pg_basebackup",
            `--pgdata=${join(folder, "data")}`,
            "--write-recovery-conf",
            "--host=127.0.0.1",
            `--port=${primaryPort}`,
            "--username=postgres",
            "--wal-method=stream",
            "--checkpoint=fast",
            "--no-sync",
          ],
    // Without a checkpoint, so that every backend aborts (`immediate`).
    signals: { crash: "SIGQUIT", orderly: "SIGINT" },
    async answers(port) {
      const client = new pg.Client(connectionAt(port));
      client.on("error", () => undefined);
      await client.connect();
      await client.end();
      return true;
    },
    openPool(port, config: pg.PoolConfig = {}) {
      const pool = new pg.Pool({ ...connectionAt(port), ...config });
      pool.on("error", () => undefined);
      return pool;
    },
  });
}
