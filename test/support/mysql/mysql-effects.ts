import type mysql from "mysql2/promise";

/** What handlers wrote for a delivery, in a table of their own. */
export interface Effects {
  /** Writes one effect of `key`, as a handler does. */
  readonly write: (tx: Pick<mysql.PoolConnection, "query">, key: string) => Promise<void>;
  /** How many effects of `key` are committed. */
  readonly of: (key: string) => Promise<number>;
  /** How many rows that remember `key` as handled are committed. */
  readonly remembered: (key: string) => Promise<number>;
}

/** Makes the effects table of the database that `pool` is connected to. */
export async function createEffects(pool: mysql.Pool): Promise<Effects> {
  await pool.query("CREATE TABLE IF NOT EXISTS effects (name varbinary(255) NOT NULL)");
  const count = async (from: string, key: string): Promise<number> => {
    const [rows] = await pool.query<mysql.RowDataPacket[]>(`SELECT 1 FROM ${from} = ?`, [key]);
    return rows.length;
  };
  return {
    async write(tx, key) {
      await tx.query("INSERT INTO effects (name) VALUES (?)", [key]);
    },
    of: (key) => count("effects WHERE name", key),
    remembered: (key) => count("gateway_deliveries WHERE owner IS NULL AND `key`", key),
  };
}

/** The work of a delivery that must not be processed. */
export function mustNotRun(): Promise<void> {
  return Promise.reject(new Error("the handler was called"));
}
