import { createWebhookReceiver, type WebhookReceiver } from "identity-gateway-webhooks";
import { mysqlTransactions } from "identity-gateway-webhooks/mysql";
import type { PoolConnection } from "mysql2/promise";
import type { Ledger } from "./ledger.js";
import { openMysqlPool } from "./mysql-pool.js";
import { observe } from "./observe.js";
import { EFFECTS_TABLE, type ReceiverConfig } from "./receiver-config.js";
import { receiverTimes } from "./receiver-times.js";
import type { Work, WorkContext } from "./work.js";

const INSERT = `INSERT INTO ${EFFECTS_TABLE} (id) VALUES (?)`;

/** A receiver whose effects are rows of MySQL that it writes through `context.tx`. */
export function mysqlTransactionsReceiver(
  config: ReceiverConfig,
  ledger: Ledger,
  work: Work,
): WebhookReceiver {
  const handle = (
    _record: unknown,
    context: WorkContext & { readonly tx: PoolConnection },
  ): Promise<void> => work.handle(context, () => context.tx.query(INSERT, [context.id]));
  return createWebhookReceiver({
    secret: config.secret,
    handlers: { new_alarm: handle, delete_my_data_event: handle },
    store: mysqlTransactions({ pool: openMysqlPool(config.port) }),
    ...receiverTimes(config),
    ...observe(ledger),
  });
}
