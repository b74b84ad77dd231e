import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import mysql from "mysql2/promise";
import { freePort } from "../free-port.js";
import { onceInRun } from "../once-in-run.js";

/** A MariaDB server for one test file. It has an empty database `test`, and the user `root` without a password. */
export interface MysqlServer {
  readonly port: number;
  /** A pool of connections to its database `test`, ended by `close`. */
  readonly pool: (config?: mysql.PoolOptions) => mysql.Pool;
  /** Stops it: `crash` by SIGKILL. */
  readonly stop: (mode: "crash" | "orderly") => Promise<void>;
  /** Starts it again, with what it had committed. */
  readonly start: () => Promise<void>;
  /** Ends the pools and the server, and removes its folder. */
  readonly close: () => Promise<void>;
}

/** The paths of `mariadbd` and `mariadb-install-db`: on PATH, or where Debian's package keeps them. */
export const mysqlBinaries = findBinaries();

function findBinaries(): { readonly server: string; readonly install: string } | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(":"), "/usr/sbin", "/usr/bin"];
  const find = (name: string): string | undefined =>
    folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
  const [server, install] = [find("mariadbd"), find("mariadb-install-db")];
  return server === undefined || install === undefined ? undefined : { server, install };
}

/** Starts a server on a free port of 127.0.0.1, in a folder of its own. `settings`: of its command line. */
export async function startMysql(
  settings: Readonly<Record<string, string>> = {},
): Promise<MysqlServer> {
  const binaries = mysqlBinaries ?? { server: "mariadbd", install: "mariadb-install-db" };
  const folder = mkdtempSync(join(tmpdir(), "mysql-"));
  const data = join(folder, "data");
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? ["--user=mysql"] : [];
  if (user.length > 0) chownSync(folder, idOf("-u"), idOf("-g"));
  const filesIn = (root: string) => [
    "--no-defaults",
    `--datadir=${join(root, "data")}`,
    // With a shared folder for temporary files, installations at the same time fail.
    `--tmpdir=${root}`,
    "--innodb-log-file-size=8M",
    ...user,
  ];
  // Copied: an installation takes 20 times as long.
  const template = onceInRun("mysql", (made) => {
    if (user.length > 0) chownSync(made, idOf("-u"), idOf("-g"));
    const root = ["--auth-root-authentication-method=normal", "--skip-test-db"];
    execFileSync(binaries.install, [...filesIn(made), ...root, "--skip-name-resolve"], {
      cwd: made,
      stdio: "ignore",
    });
  });
  execFileSync("cp", ["-a", join(template, "data"), data]);

  const port = await freePort();
  const all = {
    ...{ port: String(port), "bind-address": "127.0.0.1", socket: join(folder, "socket") },
    ...{ "pid-file": join(folder, "pid"), "max-connections": "1000", "skip-name-resolve": "ON" },
    // Commits survive a crash of the server without fsync. A crash of the machine is not tested.
    ...{ "innodb-flush-method": "nosync", "innodb-buffer-pool-size": "32M", ...settings },
  };
  const args = [
    ...filesIn(folder),
    ...Object.entries(all).map(([name, value]) => `--${name}=${value}`),
  ];
  const connection = { host: "127.0.0.1", port, user: "root" };
  const pools = new Set<mysql.Pool>();
  let child: ChildProcess | undefined;

  const start = async (): Promise<void> => {
    const started = spawn(binaries.server, args, {
      cwd: folder,
      stdio: ["ignore", "ignore", "pipe"],
    });
    child = started;
    let said = "";
    started.stderr.on("data", (data: Buffer) => (said = (said + data.toString()).slice(-4_000)));
    await answers(connection, started, () => said);
  };
  const stop = async (mode: "crash" | "orderly"): Promise<void> => {
    const running = child;
    child = undefined;
    if (running?.exitCode !== null || running.signalCode !== null) return;
    const ended = once(running, "exit");
    running.kill(mode === "crash" ? "SIGKILL" : "SIGTERM");
    await ended;
  };
  await start();

  return {
    port,
    pool(config = {}) {
      const pool = mysql.createPool({ ...connection, database: "test", ...config });
      pools.add(pool);
      return pool;
    },
    stop,
    start,
    async close() {
      // The server first: a pool waits for each connection that a failed test has not released.
      await stop("crash");
      for (const pool of pools) void pool.end().catch(() => undefined);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function idOf(flag: "-u" | "-g"): number {
  return Number(execFileSync("id", [flag, "mysql"], { encoding: "utf8" }));
}

/** Waits until the server answers. `said` returns its output, for the error if it ends. */
async function answers(
  connection: mysql.ConnectionOptions,
  server: ChildProcess,
  said: () => string,
): Promise<void> {
  while (server.exitCode === null && server.signalCode === null) {
    try {
      const client = await mysql.createConnection(connection);
      await client.query("CREATE DATABASE IF NOT EXISTS test");
      await client.end();
      return;
    } catch {
      // It is not listening yet, or is recovering from a crash.
      await wait(20);
    }
  }
  const how = server.exitCode ?? server.signalCode;
  throw new Error(`mariadbd ended with ${how} before it answered: ${said()}`);
}
