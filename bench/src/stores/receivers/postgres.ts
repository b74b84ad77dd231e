import pg from "pg";
import type * as postgres from "identity-gateway-webhooks/postgres";
import { POOL_SIZE, type Place } from "../engines/engine.js";
import { newOwner, type Contenders } from "./contender.js";

const CREATE =
  "CREATE TABLE IF NOT EXISTS seen (id text PRIMARY KEY, owner text NOT NULL, lease_until timestamptz NOT NULL, done_at timestamptz)";
const CLAIM = `INSERT INTO seen AS s VALUES ($1, $2, now() + interval '60 s')
  ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, lease_until = excluded.lease_until
  WHERE s.done_at IS NULL AND s.lease_until < now()`;
const COMPLETE = "UPDATE seen SET done_at = now() WHERE id = $1 AND owner = $2";
const LOCK = "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS locked";
const INSERT = "INSERT INTO seen VALUES ($1, '', now(), now()) ON CONFLICT DO NOTHING";

function poolOf({ port, database }: Place): pg.Pool {
  const pool = new pg.Pool({ host: "127.0.0.1", port, database, user: "postgres", max: POOL_SIZE });
  pool.on("error", () => undefined);
  return pool;
}

/** A statement with its values, under a name if the server shall keep its plan. */
function statements(prepare: boolean) {
  return (text: string, values: string[]) =>
    prepare ? { name: text.slice(0, 60), text, values } : { text, values };
}

/** `postgresStore` beside a claim with a lease and its completion. */
export const throughStore = (prepare = false): Contenders => ({
  async ours(load, place) {
    const { postgresStore } = await load<typeof postgres>("postgres");
    const store = postgresStore({ pool: poolOf(place), prepare });
    await store.migrate();
    return { store };
  },
  async byHand(place) {
    const pool = poolOf(place);
    const statement = statements(prepare);
    await pool.query(CREATE);
    return async (id) => {
      const owner = newOwner();
      const { rowCount } = await pool.query(statement(CLAIM, [id, owner]));
      return rowCount === 1 ? () => pool.query(statement(COMPLETE, [id, owner])) : undefined;
    };
  },
});

/** `postgresTransactions` beside a lock and an insert between BEGIN and COMMIT. */
export const throughTransactions = (prepare = false): Contenders => ({
  async ours(load, place) {
    const { postgresTransactions } = await load<typeof postgres>("postgres");
    const store = postgresTransactions({ pool: poolOf(place), prepare });
    await store.migrate();
    return { store };
  },
  async byHand(place) {
    const pool = poolOf(place);
    const statement = statements(prepare);
    await pool.query(CREATE);
    return async (id) => {
      const client = await pool.connect();
      const end = async (last: string): Promise<undefined> => {
        await client.query(last);
        client.release();
      };
      await client.query("BEGIN");
      const { rows } = await client.query<{ locked: boolean }>(statement(LOCK, [id]));
      if (rows[0]?.locked !== true) return end("ROLLBACK");
      const { rowCount } = await client.query(statement(INSERT, [id]));
      return rowCount === 1 ? () => end("COMMIT") : end("ROLLBACK");
    };
  },
});
