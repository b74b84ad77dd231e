import { batchRowsOf } from "../purge-options.js";
import type { D1Batches } from "./d1-batches.js";

/** Options of `purge`. */
export interface D1PurgeOptions {
  /**
   * How many rows one DELETE removes. 1 to 100 000, default 1 000. Each DELETE is one of the queries that
   * an invocation of a Worker may make (50 on the free plan), and other queries wait for it.
   */
  readonly batchRows?: number | undefined;
}

/** Deletes rows with `statement`, which takes the key to start behind and the number of rows. */
export async function purge(
  batches: D1Batches,
  statement: string,
  options: D1PurgeOptions = {},
): Promise<number> {
  const batchRows = batchRowsOf(options);
  let purged = 0;
  let last = "";
  for (;;) {
    const [removed = []] = await batches.run([statement, last, batchRows]);
    purged += removed.length;
    if (removed.length < batchRows) return purged;
    // RETURNING promises no order.
    for (const row of removed) {
      const key = String((row as { key: unknown }).key);
      if (key > last) last = key;
    }
  }
}
