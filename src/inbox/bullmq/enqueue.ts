import { integerOption, ownOptions } from "../../common/option-checks.js";
import { INTEGER_OPTIONS } from "../../options/options.js";
import { checkClient } from "../client-methods.js";
import type { Enqueue } from "../inbox.js";
import { QueueError } from "../queue-error.js";
import { RETRY_OPTIONS, type RetryOptions } from "../retry-options.js";
import { BACKOFF_TYPE } from "./backoff.js";
import type { BullmqQueue } from "./client.js";
import { bullmqJobId } from "./job-id.js";

/** Options of `bullmqEnqueue`. */
export interface BullmqEnqueueOptions extends RetryOptions {
  /** A `Queue` of BullMQ, on a Redis with `maxmemory-policy noeviction`. */
  queue: BullmqQueue;
  /**
   * How long a completed job is remembered, so that the delivery makes no second one. Milliseconds, at
   * least 72 hours (the gateway's attempts span up to 36, more with jitter), default 7 days.
   */
  retentionMs?: number | undefined;
}

const OPTION_NAMES = ["queue", "retryLimit", "retryDelayMs", "retentionMs"];

/**
 * Puts deliveries into a queue of BullMQ: `inbox({ enqueue: bullmqEnqueue({ queue }) })`. Redis has
 * the job before the gateway hears of it; whether Redis's disk has it is Redis's `appendfsync`: with
 * `everysec` a crash of Redis loses up to a second of acknowledged deliveries, with `always` none.
 * Completed jobs are removed by their age, failed ones, which are the dead letters, never.
 *
 * @throws ConfigurationError where an option cannot work.
 */
export function bullmqEnqueue(options: BullmqEnqueueOptions): Enqueue {
  const own = ownOptions("bullmqEnqueue", options, OPTION_NAMES);
  const { queue } = own;
  checkClient("queue", queue, ["add"]);
  const { retryLimit, retryDelayMs, retentionMs } = own;
  const retries = integerOption("retryLimit", retryLimit, RETRY_OPTIONS.retryLimit);
  const delay = integerOption("retryDelayMs", retryDelayMs, RETRY_OPTIONS.retryDelayMs);
  const ageMs = integerOption("retentionMs", retentionMs, INTEGER_OPTIONS.retentionMs);
  const settings = {
    attempts: retries + 1,
    backoff: { type: BACKOFF_TYPE, delay },
    removeOnComplete: { age: Math.ceil(ageMs / 1000) },
    removeOnFail: false,
    // A queue's `defaultJobOptions` may have one, which would drop a delivery in favour of another.
    deduplication: undefined,
  } as const;

  return async (job) => {
    const jobId = bullmqJobId(job.id);
    const added: unknown = await queue.add(job.type, job, { jobId, ...settings });
    const { id } = Object(added) as { readonly id?: unknown };
    // Where BullMQ takes no job, it may give back another one: acknowledged, the delivery would be lost.
    if (id !== jobId) {
      throw new QueueError(
        "BullMQ made no job of the delivery: look at the queue's defaultJobOptions",
      );
    }
  };
}
