import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { onceInRun } from "./once-in-run.js";
import { give, ownerFor, startServer, type ServerProgram } from "./server-process.js";

/** A database server for one test file. */
export interface DatabaseServer<Pool, Config> {
  readonly port: number;
  /** A pool of connections to it, ended by `close`. */
  readonly pool: (config?: Config) => Pool;
  /** Stops it: a `crash` flushes nothing and aborts all connections. */
  readonly stop: (mode: "crash" | "orderly") => Promise<void>;
  /** Starts it again, with what it had committed. */
  readonly start: () => Promise<void>;
  /** Ends the pools and the server, and removes its folder. */
  readonly close: () => Promise<void>;
}

/** A kind of database server. */
export interface DatabaseProgram<Pool, Config> extends Pick<
  ServerProgram,
  "name" | "command" | "args" | "answers"
> {
  /** The user that it runs as, because it refuses to run as root. */
  readonly user: string;
  /** The program that makes `data` in a folder. Its result is copied, because it takes 20 times as long. */
  readonly install: (folder: string) => readonly [command: string, ...args: readonly string[]];
  /** The program that makes `data` of a standby, instead of `install`. */
  readonly copyOf?: DatabaseProgram<Pool, Config>["install"] | undefined;
  readonly signals: Readonly<Record<"crash" | "orderly", NodeJS.Signals>>;
  readonly openPool: (port: number, config: Config | undefined) => Pool;
}

/** Starts a server on a free port of 127.0.0.1, in a folder of its own. */
export async function startDatabase<Pool extends { end: () => Promise<void> }, Config>(
  database: DatabaseProgram<Pool, Config>,
): Promise<DatabaseServer<Pool, Config>> {
  const { name, user, install, copyOf, signals, openPool } = database;
  const owner = ownerFor(user);
  const make = (folder: string, [command, ...args]: ReturnType<typeof install>) => {
    execFileSync(command, args, { ...owner, cwd: folder, stdio: "ignore" });
  };
  const prepare = (folder: string) => {
    if (copyOf !== undefined) {
      make(folder, copyOf(folder));
      return;
    }
    const template = onceInRun(name, (made) => {
      give(made, owner);
      make(made, install(made));
    });
    execFileSync("cp", ["-a", join(template, "data"), join(folder, "data")]);
  };
  const server = await startServer({ ...database, owner, prepare });
  const pools = new Set<Pool>();
  return {
    port: server.port,
    pool(config) {
      const pool = openPool(server.port, config);
      pools.add(pool);
      return pool;
    },
    stop: (mode) => server.end(signals[mode]),
    start: server.start,
    async close() {
      // The server first: a pool waits for each connection that a failed test has not released.
      await server.end(signals.crash);
      for (const pool of pools) void pool.end().catch(() => undefined);
      await server.close();
    },
  };
}
