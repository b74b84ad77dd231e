import {
  createWebhookReceiver,
  type DeliveryContext,
  type TransactionalStore,
  type WebhookReceiver,
} from "../../../src/index.js";
import { NOW_MS, TEST_SECRET } from "../deliveries.js";
import type { CommonReceiverOptions } from "../receiver-options.js";

/** What a test may set beside the store and the handler. */
export type TransactionalOptions = Partial<Omit<CommonReceiverOptions, "store" | "handlers">>;

/** A receiver of alarms on a transactional store, which says nothing unless told to. */
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
