import { bounded, connect } from "./connection.js";
import type { PostgresPool, PostgresResult, PostgresTransactionPool } from "./postgres-pool.js";

/** Whoever had the client before us gave it back inside of a transaction: nothing we do there stays. */
class UnfinishedTransactionError extends Error {
  override readonly name = "UnfinishedTransactionError";

  constructor() {
    super(
      "the pool lent a client inside of a transaction: something gives clients back unfinished",
    );
  }
}

/**
 * Runs one statement that commits by itself, as `pool.query` does. Rejects also where it takes too long
 * or was not committed, and closes the connection then.
 */
export async function ask(
  pool: PostgresPool,
  text: string,
  values: unknown[],
): Promise<PostgresResult> {
  if (!lendsClients(pool)) return bounded("pool.query", pool.query(text, values));
  const { client, query, giveBack } = await connect(pool);
  try {
    const result = await query("the statement", text, values);
    const status = client.getTransactionStatus?.();
    if (status === "T" || status === "E") throw new UnfinishedTransactionError();
    giveBack();
    return result;
  } catch (error) {
    giveBack(new Error("the statement failed", { cause: error }));
    throw error;
  }
}

/** Not so a single client of pg, which has a `connect` of another meaning. */
function lendsClients(pool: PostgresPool): pool is PostgresTransactionPool {
  return "connect" in pool && "totalCount" in pool;
}
