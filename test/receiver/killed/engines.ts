import { postgresTransactions } from "../../../src/stores/postgres/index.js";
import { hasPostgres, startPostgres } from "../../support/postgres/postgres-server.js";
import { hasRedisServer, startRedisWithAdmin } from "../../support/redis/redis-server.js";
import { LEDGER, type EngineName } from "./run-facts.js";

/** An engine with an empty ledger. */
export interface RunEngine {
  /** As in `Role`. */
  readonly at: string;
  /** The lines that the handlers have written. */
  readonly ledger: () => Promise<readonly string[]>;
  readonly close: () => Promise<void>;
}

const CREATE = `CREATE TABLE ${LEDGER} (line VARCHAR(200) NOT NULL)`;
const SELECT = `SELECT line FROM ${LEDGER}`;

/** What each engine needs, and how it starts. */
export const ENGINES: Readonly<
  Record<
    EngineName,
    { readonly missing: string | undefined; readonly start: () => Promise<RunEngine> }
  >
> = {
  redis: {
    missing: hasRedisServer ? undefined : "redis-server was not found",
    async start() {
      const { url, admin, close } = await startRedisWithAdmin();
      return { at: url, ledger: () => admin.lrange(LEDGER, 0, -1), close };
    },
  },
  postgres: {
    missing: hasPostgres ? undefined : "postgres was not found",
    async start() {
      const { port, close, ...server } = await startPostgres();
      const pool = server.pool();
      await pool.query(CREATE);
      await postgresTransactions({ pool }).migrate();
      return {
        at: `postgres://postgres@127.0.0.1:${port}/postgres`,
        ledger: async () => (await pool.query<{ line: string }>(SELECT)).rows.map(lineOf),
        close,
      };
    },
  },
};

function lineOf({ line }: { readonly line: string }): string {
  return line;
}

/** The processes that handled each record, in order, by its key. */
export function runsOf(ledger: readonly string[]): ReadonlyMap<string, readonly number[]> {
  const runs = new Map<string, number[]>();
  for (const line of ledger) {
    const { key, by } = JSON.parse(line) as { readonly key: string; readonly by: number };
    runs.set(key, [...(runs.get(key) ?? []), by]);
  }
  return runs;
}
