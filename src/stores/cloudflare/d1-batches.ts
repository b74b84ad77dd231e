import type { D1Binding, D1Value } from "./d1-binding.js";
import { isTransient, namedD1Error } from "./errors.js";

/** The text of a statement, and the values of its parameters `?1`, `?2` … */
export type BoundSql = readonly [sql: string, ...values: D1Value[]];

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

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
