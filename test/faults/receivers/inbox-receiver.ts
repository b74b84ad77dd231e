import {
  createWebhookReceiver,
  type WebhookHandlers,
  type WebhookLogger,
} from "identity-gateway-webhooks";
import { inbox, type QueueProducer } from "identity-gateway-webhooks/inbox";
import type { DeadDeliveries } from "identity-gateway-webhooks/nats";
import type { Ledger } from "./ledger.js";
import { observe } from "./observe.js";
import { startOperator } from "./operator.js";
import type { ReceiverConfig } from "./receiver-config.js";
import { receiverTimes } from "./receiver-times.js";
import type { MakeReceiver, WorkContext } from "./work.js";

/** The queue of a receiver, with its dead jobs. */
type Queue = QueueProducer<unknown> & DeadDeliveries;

/** Options of the workers of all engines. */
interface Workers {
  readonly retryLimit: number;
  readonly handlers: WebhookHandlers;
  readonly logger: WebhookLogger;
}

/** Receivers that put deliveries into a queue, with a worker of it in the same process. `open` starts both. */
export function withQueue(
  open: (config: ReceiverConfig, ledger: Ledger, workers: Workers) => Queue | Promise<Queue>,
): MakeReceiver {
  return async (config, ledger, work) => {
    const handle = (_record: unknown, context: WorkContext): Promise<void> => work.handle(context);
    const handlers = { new_alarm: handle, delete_my_data_event: handle };
    const { logger } = observe(ledger);
    const workers = { handlers, logger, retryLimit: config.retryLimit ?? 100 };
    const driver = await open(config, ledger, workers);
    startOperator(driver, config, ledger);
    return createWebhookReceiver({
      secret: config.secret,
      // A message of NATS has at most 1 MiB.
      maxBodyBytes: 100_000,
      handlers: inbox({ driver, putTimeoutMs: 1_500 }),
      ...receiverTimes(config),
      logger: false,
    });
  };
}
