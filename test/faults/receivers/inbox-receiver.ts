import {
  createWebhookReceiver,
  type WebhookHandlers,
  type WebhookLogger,
  type WebhookReceiver,
} from "identity-gateway-webhooks";
import { inbox, type QueueProducer } from "identity-gateway-webhooks/inbox";
import type { Ledger } from "./ledger.js";
import { observe } from "./observe.js";
import type { ReceiverConfig } from "./receiver-config.js";
import { receiverTimes } from "./receiver-times.js";
import type { Work, WorkContext } from "./work.js";

/** Options of the workers of all engines. */
export interface Workers {
  readonly handlers: WebhookHandlers;
  readonly logger: WebhookLogger;
}

/** A receiver that puts deliveries into a queue, with a worker of that queue in the same process. */
export async function inboxReceiver(
  config: ReceiverConfig,
  ledger: Ledger,
  work: Work,
): Promise<WebhookReceiver> {
  const handle = (_record: unknown, context: WorkContext): Promise<void> => work.handle(context);
  const handlers = { new_alarm: handle, delete_my_data_event: handle };
  const driver = await openQueue(config, ledger, { handlers, logger: observe(ledger).logger });
  return createWebhookReceiver({
    secret: config.secret,
    // A message of NATS has at most 1 MiB.
    ...{ maxBodyBytes: 100_000, handlers: inbox({ driver, putTimeoutMs: 1_500 }) },
    ...receiverTimes(config),
    logger: false,
  });
}

async function openQueue(
  config: ReceiverConfig,
  ledger: Ledger,
  workers: Workers,
): Promise<QueueProducer<unknown>> {
  if (config.setup === "inbox-pg-boss") {
    const { openPgBoss } = await import("./pg-boss-queue.js");
    return openPgBoss(config, ledger, workers);
  }
  if (config.setup === "inbox-nats" || config.setup === "inbox-rabbitmq") {
    const driver =
      config.setup === "inbox-nats"
        ? await (await import("./nats-queue.js")).openNats(config)
        : (await import("./rabbitmq-queue.js")).openRabbitmq(config);
    const { startBrokerWorker } = await import("./broker-worker.js");
    return startBrokerWorker(driver, config, ledger, workers);
  }
  const { openBullmq } = await import("./bullmq-queue.js");
  return openBullmq(config, ledger, workers);
}
