import {
  createWebhookReceiver,
  type DeliveryContext,
  type TransactionalStore,
  type WebhookReceiver,
} from "../../../src/index.js";
import { NOW_MS, TEST_SECRET } from "../deliveries.js";
import type { CommonReceiverOptions } from "../receiver-options.js";

/** Options that a test may set besides the store and the handler. */
export type TransactionalOptions = Partial<Omit<CommonReceiverOptions, "store" | "handlers">>;

/** Makes a receiver of alarms on a transactional store. It logs nothing unless the test sets a logger. */
export function transactionalReceiver<Tx>(
  store: TransactionalStore<Tx>,
  handler: (context: DeliveryContext<Tx>) => unknown,
  options: TransactionalOptions = {},
): WebhookReceiver {
  return createWebhookReceiver<Tx>({
    secret: TEST_SECRET,
    logger: false,
    now: () => NOW_MS,
    ...options,
    store,
    handlers: { new_alarm: (_alarm, context) => handler(context) },
  });
}
