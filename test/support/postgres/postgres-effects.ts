import type pg from "pg";

/** What handlers wrote for a delivery, in a table of their own. */
export interface Effects {
  /** Writes one effect of `key`, as a handler does. */
  readonly write: (tx: Pick<pg.ClientBase, "query">, key: string) => Promise<void>;
  /** How many effects of `key` are committed. */
  readonly of: (key: string) => Promise<number>;
  /** How many rows that remember `key` are committed. */
  readonly remembered: (key: string) => Promise<number>;
}

/** Makes the effects table of the database that `pool` is connected to. */
export async function createEffects(pool: pg.Pool): Promise<Effects> {
  await pool.query("CREATE TABLE IF NOT EXISTS effects (key text NOT NULL)");
  const count = async (table: string, key: string): Promise<number> => {
    const { rows } = await pool.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM ${table} WHERE key = $1`,
      [key],
    );
    return rows[0]?.count ?? 0;
  };
  return {
    async write(tx, key) {
      await tx.query("INSERT INTO effects (key) VALUES ($1)", [key]);
    },
    of: (key) => count("effects", key),
    remembered: (key) => count("gateway_deliveries", key),
  };
}

/** The work of a delivery that must not be processed. */
export function mustNotRun(): Promise<void> {
  return Promise.reject(new Error("the handler was called"));
}
