import { integerOptions } from "../../common/option-checks.js";
import { INTEGER_OPTIONS as RECEIVER_OPTIONS } from "../../options/options.js";
import type { Enqueue } from "../inbox.js";
import { bullmqJobId } from "../job-id.js";
import { QueueError } from "../queue-error.js";
import { checkQueue, ownQueueOptions, RETRY_OPTIONS, type RetryOptions } from "../queue-options.js";
import type { BullmqQueue } from "./client.js";
import { jobOptionsOf } from "./job-options.js";

/** Options of `bullmqEnqueue`. */
export interface BullmqEnqueueOptions extends RetryOptions {
  /** A `Queue` of BullMQ, on a Redis with `maxmemory-policy noeviction`. */
  queue: BullmqQueue;
  /**
   * How long a completed job is kept, so that a redelivery makes no second job. Milliseconds, at least 72
   * hours (the gateway's attempts span 36 hours and more), default 7 days.
   */
  retentionMs?: number | undefined;
}

const INTEGER_OPTIONS = { ...RETRY_OPTIONS, retentionMs: RECEIVER_OPTIONS.retentionMs };
const OPTION_NAMES = [...Object.keys(INTEGER_OPTIONS), "queue"];

/**
 * Makes the `enqueue` of an inbox that writes to a queue of BullMQ. Redis has the job before the gateway is
 * answered. Whether a crash of Redis loses the job depends on its `appendfsync`: `everysec` loses up to a
 * second of acknowledged deliveries, `always` loses none. Completed jobs are removed after `retentionMs`.
 * Dead jobs stay until they are replayed or discarded.
 *
 * @example
 * ```ts
 * const queue = new Queue("gateway-deliveries", { connection });
 * const receiver = createWebhookReceiver({
 *   secret: process.env.GATEWAY_WEBHOOK_SECRET,
 *   handlers: inbox({ enqueue: bullmqEnqueue({ queue }) }),
 * });
 * ```
 *
 * @throws ConfigurationError if an option is invalid.
 */
export function bullmqEnqueue(options: BullmqEnqueueOptions): Enqueue {
  const own = ownQueueOptions("bullmqEnqueue", options, OPTION_NAMES);
  const { queue } = own;
  checkQueue(queue, ["add"]);
  const { retryLimit, retryDelayMs, retentionMs } = integerOptions(own, INTEGER_OPTIONS);
  const jobOptions = jobOptionsOf(retryLimit, retryDelayMs, retentionMs);

  const enqueue: Enqueue = async (job) => {
    const jobId = bullmqJobId(job.id);
    const added: unknown = await queue.add(job.type, job, { jobId, ...jobOptions });
    const { id } = Object(added) as { readonly id?: unknown };
    // If BullMQ makes no job, it may return another one. A 200 would then lose the delivery.
    if (id !== jobId) {
      throw new QueueError(
        "BullMQ made no job for the delivery: check the defaultJobOptions of the queue",
      );
    }
  };
  const oldestWaitMs = async (): Promise<number> => {
    if (queue.getJobs === undefined) throw new QueueError("the queue has no method getJobs");
    const jobs = await queue.getJobs(["waiting"], 0, 0, true);
    // A job that waits for another run has the time of its last one.
    const since = jobs.map((job) => Math.max(job?.timestamp ?? Infinity, job?.processedOn ?? 0));
    return Math.max(0, Date.now() - Math.min(Infinity, ...since));
  };
  return Object.assign(enqueue, { queueName: queue.name, oldestWaitMs });
}
