/** A value that the store binds to a statement. */
export type D1Value = string | number;

/** The part of the result of a statement that the store reads. */
export interface D1Result {
  readonly results: readonly unknown[];
}

/** A prepared statement of D1. */
export interface D1Statement {
  bind(...values: D1Value[]): D1Statement;
}

/**
 * The part of a D1 binding that the store uses. The `D1Database` of `@cloudflare/workers-types` and of
 * `wrangler types` has it.
 */
export interface D1Binding {
  prepare(sql: string): D1Statement;
  /** Runs the statements in one transaction. */
  batch(statements: D1Statement[]): Promise<readonly D1Result[]>;
  /** A session has it, the binding itself does not. */
  readonly getBookmark?: undefined;
}
