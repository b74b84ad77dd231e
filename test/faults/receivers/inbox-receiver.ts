import { createInterface } from "node:readline";
import {
  createWebhookReceiver,
  type WebhookHandlers,
  type WebhookLogger,
} from "identity-gateway-webhooks";
import { inbox, type QueueProducer } from "identity-gateway-webhooks/inbox";
import type { DeadDeliveries } from "identity-gateway-webhooks/nats";
import type { Ledger } from "./ledger.js";
import { observe } from "./observe.js";
import { receiverTimes, type ReceiverConfig } from "./receiver-config.js";
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
    const handle = (_record: unknown, context: WorkContext) => work.handle(context);
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

/** Replays all dead jobs at each line "replay" on standard input, and then prints a line. */
function startOperator(dead: DeadDeliveries, { flaw }: ReceiverConfig, ledger: Ledger): void {
  const replayAll = async () => {
    const listed = await dead.list({ limit: 1_000 });
    const { replayed, notFound } = await dead.replay("all");
    ledger.write({ kind: "replayed", count: replayed.length, notFound: notFound.length });
    if (flaw === "discards the dead jobs that it has listed") {
      await dead.discard(listed.map(({ id }) => id));
    }
  };
  createInterface({ input: process.stdin }).on("line", (line) => {
    if (line !== "replay") return;
    // What it could not replay is still dead, and the next one replays it.
    void replayAll()
      .then(undefined, () => undefined)
      .then(() => process.stdout.write("replayed\n"));
  });
}
