import { hasCode } from "../../common/errors.js";
import { deadDeliveriesOf, type DeadDeliveries, type DeadDelivery } from "../dead-deliveries.js";
import { finishedJobOf, jobNameOf } from "../inbox-job.js";
import { bullmqJobId, deliveryIdOfBullmqJob } from "../job-id.js";
import { queueErrorOf, wordsOfText } from "../queue-error.js";
import { checkQueue, ownQueueOptions } from "../queue-options.js";
import type { BullmqDeadJob, BullmqDeadQueue } from "./client.js";

/** Options of `bullmqDeadDeliveries`. */
export interface BullmqDeadDeliveriesOptions {
  /** A `Queue` of BullMQ. */
  queue: BullmqDeadQueue;
}

/**
 * The deliveries of a BullMQ queue whose jobs have failed for good. BullMQ keeps them, with their bodies,
 * until they are replayed or discarded.
 *
 * @example
 * ```ts
 * const dead = bullmqDeadDeliveries({ queue });
 * for (const { id, attempts, error } of await dead.list()) console.log(id, attempts, error);
 * await dead.replay("all");
 * ```
 *
 * @throws ConfigurationError if an option is invalid.
 */
export function bullmqDeadDeliveries(options: BullmqDeadDeliveriesOptions): DeadDeliveries {
  const { queue } = ownQueueOptions("bullmqDeadDeliveries", options, ["queue"]);
  checkQueue(queue, ["getJob", "getJobs"]);

  const find = async (id: string): Promise<BullmqDeadJob | undefined> => {
    // A job that the inbox did not make is listed under its own id.
    const job = (await queue.getJob(bullmqJobId(id))) ?? (await queue.getJob(id));
    return job !== undefined && (await job.isFailed()) ? job : undefined;
  };
  const forEach = (ids: readonly string[], act: (job: BullmqDeadJob) => Promise<boolean>) =>
    withSafeErrors(async () => {
      const found = new Set<string>();
      for (const id of ids) {
        const job = await find(id);
        if (job !== undefined && (await act(job))) found.add(id);
      }
      return found;
    });

  return deadDeliveriesOf({
    list: (limit, offset) =>
      withSafeErrors(async () => {
        const jobs = await queue.getJobs(["failed"], offset, offset + limit - 1, true);
        // A job that was removed after its id was read is undefined.
        return jobs.filter((job) => job !== undefined).map(deadDeliveryOf);
      }),
    replay: (ids) => forEach(ids, retryJob),
    discard: (ids) => forEach(ids, discardJob),
  });
}

/** Runs a job again, with all of its attempts. False if it is no longer among the failed jobs. */
async function retryJob(job: BullmqDeadJob): Promise<boolean> {
  try {
    await job.retry("failed", { resetAttemptsMade: true });
    return true;
  } catch (error) {
    if (await job.isFailed()) throw error;
    return false;
  }
}

/**
 * Gives up a job. If it were removed, BullMQ would forget its id, and a redelivery would be handled. So it
 * is marked as finished and run again: the worker completes it without the handler and keeps its id.
 */
async function discardJob(job: BullmqDeadJob): Promise<boolean> {
  try {
    await job.updateData(finishedJobOf(job.data, "discarded"));
  } catch (error) {
    if (!hasCode(error, "unreadable_job")) throw error;
    await job.remove();
    return true;
  }
  return retryJob(job);
}

function deadDeliveryOf(job: BullmqDeadJob): DeadDelivery {
  const { id = deliveryIdOfBullmqJob(job.id ?? ""), type } = jobNameOf(job.data);
  return {
    id,
    type,
    attempts: job.attemptsMade,
    failedAt: new Date(job.finishedOn ?? 0),
    error: wordsOfText(job.failedReason),
  };
}

/** Replaces errors of BullMQ, which may quote a body. */
async function withSafeErrors<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw queueErrorOf("BullMQ", error);
  }
}
