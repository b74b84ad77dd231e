import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { freePort } from "../free-port.js";
import { onceInRun } from "../once-in-run.js";

/** A PostgreSQL server for one test file. */
export interface PostgresServer {
  readonly port: number;
  /** A pool of connections to it, ended by `close`. Errors of idle connections are ignored. */
  readonly pool: (config?: pg.PoolConfig) => pg.Pool;
  /** Stops it: `crash` without a checkpoint, so that every backend aborts (`immediate`). */
  readonly stop: (mode: "crash" | "orderly") => Promise<void>;
  /** Starts it again, with what it had committed. */
  readonly start: () => Promise<void>;
  /** Ends the pools and the server, and removes its folder. */
  readonly close: () => Promise<void>;
}

/** The folder of `initdb` and `postgres`: on PATH, or where Debian's packages keep them. */
export const postgresBinaries: string | undefined = [
  ...(process.env["PATH"] ?? "").split(":"),
  ...debianFolders(),
].find((folder) => existsSync(join(folder, "initdb")) && existsSync(join(folder, "postgres")));

/** Starts a server on a free port of 127.0.0.1, in a folder of its own. `settings`: of postgresql.conf. */
export async function startPostgres(
  settings: Readonly<Record<string, string>> = {},
): Promise<PostgresServer> {
  const binaries = postgresBinaries ?? "";
  const folder = mkdtempSync(join(tmpdir(), "postgres-"));
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? { uid: idOf("-u"), gid: idOf("-g") } : {};
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, "data");
  const options = { ...user, cwd: folder, stdio: "ignore" } as const;
  // Copied: `initdb` takes 20 times as long.
  const template = onceInRun("postgres", (made) => {
    if (user.uid !== undefined) chownSync(made, user.uid, user.gid);
    const initdb = ["-D", join(made, "data"), "-U", "postgres", "-A", "trust", "-E", "UTF8"];
    execFileSync(join(binaries, "initdb"), [...initdb, "--no-sync", "--no-locale"], options);
  });
  execFileSync("cp", ["-a", join(template, "data"), data]);

  const port = await freePort();
  const all = {
    ...{ port: String(port), listen_addresses: "127.0.0.1", unix_socket_directories: "" },
    // Commits survive a crash of the server without fsync. A crash of the machine is not tested.
    ...{ fsync: "off", max_connections: "200", ...settings },
  };
  const args = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const connection = { host: "127.0.0.1", port, user: "postgres", database: "postgres" };
  const pools = new Set<pg.Pool>();
  let child: ChildProcess | undefined;
  /** The end of the previous server, which keeps its folder locked until then. */
  let ended: Promise<unknown> = Promise.resolve();

  const start = async (): Promise<void> => {
    await ended;
    const started = spawn(join(binaries, "postgres"), ["-D", data, ...args], {
      ...options,
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
    if (running?.exitCode !== null) return;
    ended = once(running, "exit");
    running.kill(mode === "crash" ? "SIGQUIT" : "SIGINT");
    await ended;
  };
  await start();

  return {
    port,
    pool(config = {}) {
      const pool = new pg.Pool({ ...connection, ...config });
      pool.on("error", () => undefined);
      pools.add(pool);
      return pool;
    },
    stop,
    start,
    async close() {
      // The server first: a pool waits for each client that a failed test has not released.
      await stop("crash");
      for (const pool of pools) void pool.end().catch(() => undefined);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function debianFolders(): string[] {
  const root = "/usr/lib/postgresql";
  return existsSync(root) ? readdirSync(root).map((version) => join(root, version, "bin")) : [];
}

function idOf(flag: "-u" | "-g"): number {
  return Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
}

/** Waits until the server answers. `said` returns its output, for the error if it ends. */
async function answers(
  connection: pg.ClientConfig,
  server: ChildProcess,
  said: () => string,
): Promise<void> {
  while (server.exitCode === null && server.signalCode === null) {
    const client = new pg.Client(connection);
    client.on("error", () => undefined);
    try {
      await client.connect();
      await client.end();
      return;
    } catch {
      // It is not listening yet, or is recovering from a crash.
      await wait(20);
    }
  }
  const how = server.exitCode ?? server.signalCode;
  throw new Error(`postgres ended with ${how} before it answered: ${said()}`);
}
