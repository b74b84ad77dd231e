import { createWebhookReceiver, type WebhookReceiver } from "identity-gateway-webhooks";
import { postgresTransactions } from "identity-gateway-webhooks/postgres";
import type pg from "pg";
import type { Ledger } from "./ledger.js";
import { observe } from "./observe.js";
import { openPool } from "./postgres-pool.js";
import { EFFECTS_TABLE, type ReceiverConfig } from "./receiver-config.js";
import { receiverTimes } from "./receiver-times.js";
import type { Work, WorkContext } from "./work.js";

const INSERT = `INSERT INTO ${EFFECTS_TABLE} (id) VALUES ($1)`;

/** A receiver whose effects are rows of PostgreSQL that it writes through `context.tx`. */
export function postgresTransactionsReceiver(
  config: ReceiverConfig,
  ledger: Ledger,
  work: Work,
): WebhookReceiver {
  const handle = (
    _record: unknown,
    context: WorkContext & { readonly tx: pg.PoolClient },
  ): Promise<void> => work.handle(context, () => context.tx.query(INSERT, [context.id]));
  return createWebhookReceiver({
    secret: config.secret,
    handlers: { new_alarm: handle, delete_my_data_event: handle },
    store: postgresTransactions({ pool: openPool(config.port) }),
    ...receiverTimes(config),
    ...observe(ledger),
  });
}
