import { GatewayWebhookError } from "../../common/errors.js";
import { pause } from "../../common/timers.js";
import type { D1Binding, D1Value } from "./d1-binding.js";

/** The text of a statement, and the values of its parameters `?1`, `?2` … */
export type BoundSql = readonly [sql: string, ...values: D1Value[]];

/**
 * The failures that D1's documentation tells to retry: the network, and a database that moves or restarts.
 * "D1 DB is overloaded" is not one of them, since every retry would add to the load.
 */
const TRANSIENT =
  /network connection lost|storage caused object to be reset|reset because its code was updated|transient issue on remote node/i;

/**
 * The pauses before the second and the third attempt, in milliseconds. Each is drawn between its half and
 * the whole, so that Workers that failed together do not return together.
 */
const PAUSES_MS = [100, 400];

/** Runs batches on a database. Every batch must be harmless if it runs twice. */
export class D1Batches {
  readonly #database: D1Binding;
  readonly #table: string;

  constructor(database: D1Binding, table: string) {
    this.#database = database;
    this.#table = table;
  }

  /** Runs the statements in one transaction. Resolves to the rows of each. */
  async run(...statements: BoundSql[]): Promise<(readonly unknown[])[]> {
    const bound = statements.map(([sql, ...values]) => this.#database.prepare(sql).bind(...values));
    for (let attempt = 0; ; attempt += 1) {
      try {
        return (await this.#database.batch(bound)).map(({ results }) => results);
      } catch (error) {
        const pauseMs = PAUSES_MS[attempt];
        if (pauseMs === undefined || !isTransient(error)) throw namedD1Error(error, this.#table);
        await pause(pauseMs * (0.5 + Math.random() / 2));
      }
    }
  }
}

/** Whether the same call may succeed within a second. It may have been committed: its answer was lost. */
function isTransient(error: unknown): boolean {
  return TRANSIENT.test(String(error));
}

/** The error that names what is missing. Any other error is returned unchanged. */
function namedD1Error(error: unknown, table: string): unknown {
  if (!String(error).includes(`no such table: ${table}:`)) return error;
  return new GatewayWebhookError(
    "missing_table",
    `the database has no table ${table}: put the SQL of d1Schema() into a migration, and run ` +
      "`wrangler d1 migrations apply <database> --remote` (`--local` for wrangler dev)",
    { cause: error },
  );
}
