import type pg from "pg";
import type { TransactionalStore } from "identity-gateway-webhooks";
import { postgresTransactions } from "identity-gateway-webhooks/postgres";
import { openPool } from "../postgres-pool.js";
import { withTransactions } from "../transactions-receiver.js";

/** A store that takes it for granted that a COMMIT commits. PostgreSQL rolls back after an error, and says so. */
function trustingCommit(pool: pg.Pool): TransactionalStore<pg.PoolClient> {
  const CLAIM = `INSERT INTO gateway_deliveries (key, expires_at) VALUES ($1, now() + interval '1 day')
    ON CONFLICT DO NOTHING`;
  return {
    async process(key, work) {
      const client = await pool.connect();
      try {
        await client.query("BEGIN");
        const { rowCount } = await client.query(CLAIM, [key]);
        if (rowCount === 1) await work(client);
        await client.query("COMMIT");
        return { state: rowCount === 1 ? "processed" : "completed" };
      } catch (error) {
        await client.query("ROLLBACK");
        throw error;
      } finally {
        client.release();
      }
    },
  };
}

export const makeReceiver = withTransactions((config, receiverOn) => {
  const pool = openPool(config);
  const isTrusting = config.flaw === "takes it for granted that a COMMIT commits";
  const store = isTrusting ? trustingCommit(pool) : postgresTransactions({ pool });
  const isGreedy = config.flaw === "uses its pool inside of a handler";
  return receiverOn(store, ({ tx }, sql) => (isGreedy ? pool : tx).query(sql));
});
