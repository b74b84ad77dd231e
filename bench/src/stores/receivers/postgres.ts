import pg from "pg";
import type * as postgres from "identity-gateway-webhooks/postgres";
import { POOL_SIZE, type Place } from "../engines/engine.js";
import type { Contenders } from "./contender.js";

const CREATE = "CREATE TABLE IF NOT EXISTS seen (id text PRIMARY KEY, at timestamptz NOT NULL)";
const CLAIM = "INSERT INTO seen VALUES ($1, now()) ON CONFLICT DO NOTHING";

function poolOf({ port, database }: Place): pg.Pool {
  const pool = new pg.Pool({ host: "127.0.0.1", port, database, user: "postgres", max: POOL_SIZE });
  pool.on("error", () => undefined);
  return pool;
}

/** `postgresStore` beside one `INSERT … ON CONFLICT DO NOTHING`. */
export const throughStore = (prepare = false): Contenders => ({
  async ours(load, place) {
    const { postgresStore } = await load<typeof postgres>("postgres");
    const store = postgresStore({ pool: poolOf(place), prepare });
    await store.migrate();
    return { store };
  },
  async byHand(place) {
    const pool = poolOf(place);
    await pool.query(CREATE);
    return async (id) => (await pool.query(CLAIM, [id])).rowCount === 1;
  },
});

/** `postgresTransactions` beside the same insert between BEGIN and COMMIT. */
export const throughTransactions = (prepare = false): Contenders => ({
  async ours(load, place) {
    const { postgresTransactions } = await load<typeof postgres>("postgres");
    const store = postgresTransactions({ pool: poolOf(place), prepare });
    await store.migrate();
    return { store };
  },
  async byHand(place) {
    const pool = poolOf(place);
    await pool.query(CREATE);
    return async (id) => {
      const client = await pool.connect();
      try {
        await client.query("BEGIN");
        const { rowCount } = await client.query(CLAIM, [id]);
        await client.query("COMMIT");
        return rowCount === 1;
      } finally {
        client.release();
      }
    };
  },
});
