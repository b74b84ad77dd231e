import { join } from "node:path";
import mysql from "mysql2/promise";
import { startDatabase, type DatabaseServer } from "../database-server.js";
import { findProgram } from "../server-process.js";

/** A MariaDB server. It has an empty database `test`, and the user `root` without a password. */
export type MysqlServer = DatabaseServer<mysql.Pool, mysql.PoolOptions>;

const server = findProgram("mariadbd", "/usr/sbin", "/usr/bin");
const install = findProgram("mariadb-install-db", "/usr/sbin", "/usr/bin");

/** Whether `mariadbd` and `mariadb-install-db` are on this machine. */
export const hasMysql = server !== undefined && install !== undefined;

/** Starts a server. `settings`: of its command line. */
export function startMysql(settings: Readonly<Record<string, string>> = {}): Promise<MysqlServer> {
  // With a shared folder for temporary files, installations at the same time fail.
  const filesIn = (folder: string) => [
    "--no-defaults",
    `--datadir=${join(folder, "data")}`,
    `--tmpdir=${folder}`,
    "--innodb-log-file-size=8M",
  ];
  const connectionAt = (port: number) => ({ host: "127.0.0.1", port, user: "root" });
  return startDatabase({
    name: "mysql",
    user: "mysql",
    command: server ?? "mariadbd",
    args(port, folder) {
      const all = {
        port: String(port),
        "bind-address": "127.0.0.1",
        socket: join(folder, "socket"),
        "pid-file": join(folder, "pid"),
        "max-connections": "1000",
        "skip-name-resolve": "ON",
        // Commits survive a crash of the server without fsync. A crash of the machine is not tested.
        "innodb-flush-method": "nosync",
        "innodb-buffer-pool-size": "32M",
        ...settings,
      };
      const given = Object.entries(all).map(([name, value]) => `--${name}=${value}`);
      return [...filesIn(folder), ...given];
    },
    install: (folder) => [
      ...([install ?? "mariadb-install-db", ...filesIn(folder)] as const),
      "--auth-root-authentication-method=normal",
      "--skip-test-db",
      "--skip-name-resolve",
    ],
    signals: { crash: "SIGKILL", orderly: "SIGTERM" },
    async answers(port) {
      const client = await mysql.createConnection(connectionAt(port));
      await client.query("CREATE DATABASE IF NOT EXISTS test");
      await client.end();
      return true;
    },
    openPool: (port, config: mysql.PoolOptions = {}) =>
      mysql.createPool({ ...connectionAt(port), database: "test", ...config }),
  });
}
