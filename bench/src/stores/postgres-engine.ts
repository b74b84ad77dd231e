import { postgresStore } from "identity-gateway-webhooks/postgres";
import { startPostgres } from "../../../test/support/postgres/postgres-server.js";
import { AT_A_TIME, type Engine } from "./engine.js";

const CREATE_RAW = "CREATE TABLE raw (key text PRIMARY KEY, owner text, ends timestamptz)";
const INSERT_RAW = "INSERT INTO raw VALUES ($1, 'owner', clock_timestamp()) ON CONFLICT DO NOTHING";

/** PostgreSQL through pg, with as many connections as there are cores to work for them, and more. */
export async function throughPg(): Promise<Engine> {
  const server = await startPostgres({ fsync: "on" });
  const pool = server.pool({ max: 10 });
  const store = postgresStore({ pool });
  await store.migrate();
  await pool.query(CREATE_RAW);
  return {
    name: "PostgreSQL, pg",
    store,
    raw: "`INSERT … ON CONFLICT DO NOTHING`",
    rawWrite: async (key) => (await pool.query(INSERT_RAW, [key])).rowCount === 1,
    atATime: AT_A_TIME,
    empty: () => pool.query("TRUNCATE raw, gateway_deliveries"),
    async bytes() {
      const { rows } = await pool.query<{ bytes: string }>(
        "SELECT pg_total_relation_size('gateway_deliveries') AS bytes",
      );
      return Number(rows[0]?.bytes);
    },
    close: server.close,
  };
}
