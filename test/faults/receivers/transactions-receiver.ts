import { setTimeout as wait } from "node:timers/promises";
import type pg from "pg";
import {
  createWebhookReceiver,
  type DeliveryContext,
  type TransactionalStore,
  type WebhookReceiver,
} from "identity-gateway-webhooks";
import type { Ledger } from "./ledger.js";
import { observe } from "./observe.js";
import { EFFECTS_TABLE, PAIRS_TABLE, type ReceiverConfig } from "./receiver-config.js";
import { receiverTimes } from "./receiver-times.js";
import type { Work } from "./work.js";

const HELD_MS = 5;

/** Locks a pair of rows, half of the handlers in the opposite order. Half of them go on after a deadlock. */
async function lockPair(id: string, query: (sql: string) => Promise<unknown>): Promise<void> {
  const [pair = "", last = ""] = id.slice(-2);
  const digit = Number.parseInt(last, 16);
  const lock = (name: string) =>
    query(`UPDATE ${PAIRS_TABLE} SET count = count + 1 WHERE name = '${pair}${name}'`);
  const [first, second] = digit % 2 === 0 ? ["a", "b"] : ["b", "a"];
  try {
    await lock(first);
    await wait(HELD_MS);
    await lock(second);
  } catch (error) {
    if (digit < 8) throw error;
  }
}

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

/** A receiver whose effects are rows that it writes through `context.tx`. Loads only its own driver. */
export async function transactionsReceiver(
  config: ReceiverConfig,
  ledger: Ledger,
  work: Work,
): Promise<WebhookReceiver> {
  const receiverOn = <Tx>(
    store: TransactionalStore<Tx>,
    query: (context: DeliveryContext<Tx>, sql: string) => Promise<unknown>,
  ): WebhookReceiver => {
    const handle = (_record: unknown, context: DeliveryContext<Tx>): Promise<void> =>
      work.handle(context, async () => {
        await query(context, `INSERT INTO ${EFFECTS_TABLE} (id) VALUES ('${context.id}')`);
        if (config.locksPairs === true) await lockPair(context.id, (sql) => query(context, sql));
      });
    return createWebhookReceiver<Tx>({
      secret: config.secret,
      handlers: { new_alarm: handle, delete_my_data_event: handle },
      store,
      ...receiverTimes(config),
      ...observe(ledger),
    });
  };
  switch (config.setup) {
    case "transactions-postgres": {
      const { openPool } = await import("./postgres-pool.js");
      const { postgresTransactions } = await import("identity-gateway-webhooks/postgres");
      const pool = openPool(config);
      const isTrusting = config.flaw === "takes it for granted that a COMMIT commits";
      const store = isTrusting ? trustingCommit(pool) : postgresTransactions({ pool });
      const isGreedy = config.flaw === "uses its pool inside of a handler";
      return receiverOn(store, ({ tx }, sql) => (isGreedy ? pool : tx).query(sql));
    }
    case "transactions-mysql": {
      const { openMysqlPool } = await import("./mysql-pool.js");
      const { mysqlTransactions } = await import("identity-gateway-webhooks/mysql");
      const store = mysqlTransactions({ pool: openMysqlPool(config.port) });
      return receiverOn(store, ({ tx }, sql) => tx.query(sql));
    }
    case "transactions-sqlite": {
      const { default: Database } = await import("better-sqlite3");
      const { sqliteTransactions } = await import("identity-gateway-webhooks/sqlite");
      const store = sqliteTransactions({ database: new Database(config.databaseFile) });
      return receiverOn(store, ({ tx }, sql) => Promise.resolve(tx.exec(sql)));
    }
    default:
      throw new Error(`${config.setup} has no transactions`);
  }
}
