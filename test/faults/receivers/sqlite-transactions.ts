import Database from "better-sqlite3";
import { createWebhookReceiver, type WebhookReceiver } from "identity-gateway-webhooks";
import { sqliteTransactions } from "identity-gateway-webhooks/sqlite";
import type { Ledger } from "./ledger.js";
import { observe } from "./observe.js";
import { EFFECTS_TABLE, type ReceiverConfig } from "./receiver-config.js";
import { receiverTimes } from "./receiver-times.js";
import type { Work, WorkContext } from "./work.js";

const INSERT = `INSERT INTO ${EFFECTS_TABLE} (id) VALUES (?)`;

/** A receiver whose effects are rows of an SQLite file that it writes through `context.tx`. */
export function sqliteTransactionsReceiver(
  config: ReceiverConfig,
  ledger: Ledger,
  work: Work,
): WebhookReceiver {
  const handle = (
    _record: unknown,
    context: WorkContext & { readonly tx: Database.Database },
  ): Promise<void> => work.handle(context, () => context.tx.prepare(INSERT).run(context.id));
  const database = new Database(config.databaseFile);
  return createWebhookReceiver({
    secret: config.secret,
    handlers: { new_alarm: handle, delete_my_data_event: handle },
    store: sqliteTransactions({ database }),
    ...receiverTimes(config),
    ...observe(ledger),
  });
}
