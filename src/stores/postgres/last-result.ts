import type { PostgresResult } from "./postgres-pool.js";

/**
 * The answer to the last of the statements that were sent as one text, or to the one that many `before` it.
 * pg answers an array to several statements, and a result to one.
 */
export function lastResult(
  answer: PostgresResult | readonly PostgresResult[],
  before = 0,
): PostgresResult {
  const result = "command" in answer ? answer : answer.at(-1 - before);
  if (result === undefined) throw new TypeError("the client answered no result of the statement");
  return result;
}
