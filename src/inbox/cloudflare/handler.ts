import { invalidOption } from "../../common/errors.js";
import type { InboxConsumeOptions } from "../consume.js";
import { pushedWorker } from "../pushed-batch.js";
import { MAX_RUN_MS, type CloudflareMessage, type CloudflareQueue } from "./queue.js";

/** A batch of messages, as a Worker gets it. `MessageBatch` of `wrangler types` has it. */
interface CloudflareBatch {
  readonly messages: readonly CloudflareMessage[];
}

/** Options of `cloudflareQueueHandler`: those of `inboxConsume`, with a driver that `cloudflareQueue` has made. */
interface CloudflareQueueHandlerOptions<Tx = never> extends InboxConsumeOptions<Tx> {
  /** With `deadQueue`. */
  driver: CloudflareQueue;
}

/** The `queue` of a Worker. Never rejects. */
export type CloudflareQueueHandler = (batch: CloudflareBatch) => Promise<void>;

/** When a message comes again whose result could not be sent. */
const RETRY_SECONDS = 60;

/**
 * Runs the jobs that Cloudflare Queues hands over, each as `inboxConsume` does: at most `concurrency` of a batch at
 * once. Each message is settled for itself. One whose result cannot be sent, and one that has not ended shortly before
 * the 15 minutes of a consumer are over, comes again by the engine's own `retry`, which counts towards its
 * `max_retries`: set that to 100, the most there is.
 *
 * @throws ConfigurationError if an option is invalid.
 * @example
 * ```ts
 * export default {
 *   queue: cloudflareQueueHandler({ driver, store: d1Store({ database: env.DB }), handlers }),
 * };
 * ```
 */
export function cloudflareQueueHandler<Tx = never>(
  options: CloudflareQueueHandlerOptions<Tx>,
): CloudflareQueueHandler {
  const { driver } = Object(options) as CloudflareQueueHandlerOptions<Tx>;
  const { messageOf } = Object(driver) as Partial<CloudflareQueue>;
  if (messageOf === undefined) {
    throw invalidOption("driver must be made by cloudflareQueue, with deadQueue");
  }
  const runBatch = pushedWorker<Tx>(options, driver);

  return async ({ messages }) => {
    const open = new Set(messages);
    await runBatch(
      messages.map((message) => [message]),
      MAX_RUN_MS,
      (one, time) => {
        const message = messageOf(one);
        return {
          ...message,
          lost: time.lost,
          async settle(settlement) {
            if (time.hasReturned) return false;
            const isTaken = await message.settle(settlement);
            open.delete(one);
            return isTaken;
          },
        };
      },
      (one) => !open.has(one),
    );
    // Cloudflare takes for done what it is told nothing about.
    for (const one of open) one.retry({ delaySeconds: RETRY_SECONDS });
  };
}
