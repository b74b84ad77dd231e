import {
  createWebhookReceiver,
  type DeliveryContext,
  type TransactionalStore,
  type WebhookReceiver,
} from "identity-gateway-webhooks";
import type { Ledger } from "./ledger.js";
import { observe } from "./observe.js";
import { EFFECTS_TABLE, type ReceiverConfig } from "./receiver-config.js";
import { receiverTimes } from "./receiver-times.js";
import type { Work } from "./work.js";

const INSERT = `INSERT INTO ${EFFECTS_TABLE} (id) VALUES`;

/** A receiver whose effects are rows that it writes through `context.tx`. Loads only its own driver. */
export async function transactionsReceiver(
  config: ReceiverConfig,
  ledger: Ledger,
  work: Work,
): Promise<WebhookReceiver> {
  const receiverOn = <Tx>(
    store: TransactionalStore<Tx>,
    insert: (context: DeliveryContext<Tx>) => unknown,
  ): WebhookReceiver => {
    const handle = (_record: unknown, context: DeliveryContext<Tx>): Promise<void> =>
      work.handle(context, () => insert(context));
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
      const store = postgresTransactions({ pool: openPool(config.port) });
      return receiverOn(store, ({ tx, id }) => tx.query(`${INSERT} ($1)`, [id]));
    }
    case "transactions-mysql": {
      const { openMysqlPool } = await import("./mysql-pool.js");
      const { mysqlTransactions } = await import("identity-gateway-webhooks/mysql");
      const store = mysqlTransactions({ pool: openMysqlPool(config.port) });
      return receiverOn(store, ({ tx, id }) => tx.query(`${INSERT} (?)`, [id]));
    }
    case "transactions-sqlite": {
      const { default: Database } = await import("better-sqlite3");
      const { sqliteTransactions } = await import("identity-gateway-webhooks/sqlite");
      const store = sqliteTransactions({ database: new Database(config.databaseFile) });
      return receiverOn(store, ({ tx, id }) => tx.prepare(`${INSERT} (?)`).run(id));
    }
    default:
      throw new Error(`${config.setup} has no transactions`);
  }
}
