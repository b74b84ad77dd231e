import { ownOptions } from "../../common/option-checks.js";
import { checkClient } from "../client-methods.js";
import { deadDeliveriesOf, type DeadDeliveries, type DeadDelivery } from "../dead-deliveries.js";
import { doneJobOf, jobNameOf, UnreadableJobError } from "../inbox-job.js";
import { queueErrorOf, wordsOfText } from "../queue-error.js";
import type { BullmqDeadJob, BullmqDeadQueue } from "./client.js";
import { bullmqJobId, deliveryIdOf } from "./job-id.js";

/** Options of `deadDeliveries`. */
export interface BullmqDeadDeliveriesOptions {
  /** A `Queue` of BullMQ. */
  queue: BullmqDeadQueue;
}

/**
 * The deliveries of a queue of BullMQ whose jobs failed for good. BullMQ keeps them, with their bodies,
 * until they are replayed or discarded.
 *
 * @throws ConfigurationError where an option cannot work.
 */
export function deadDeliveries(options: BullmqDeadDeliveriesOptions): DeadDeliveries {
  const own = ownOptions("deadDeliveries", options, ["queue"]);
  const { queue } = own;
  checkClient("queue", queue, ["getJob", "getJobs"]);

  const deadJob = async (id: string): Promise<BullmqDeadJob | undefined> => {
    // A job that is not ours has an id of its own.
    const job = (await queue.getJob(bullmqJobId(id))) ?? (await queue.getJob(id));
    return job !== undefined && (await job.isFailed()) ? job : undefined;
  };

  /** With all of its attempts. False where it is not among the failed jobs any more. */
  const runAgain = async (job: BullmqDeadJob): Promise<boolean> => {
    try {
      await job.retry("failed", { resetAttemptsMade: true });
      return true;
    } catch (error) {
      if (await job.isFailed()) throw error;
      return false;
    }
  };

  /**
   * BullMQ forgets the id of a job that it removes, and a copy of the delivery would be handled. So the job
   * is marked as done and run again: its worker completes it without the handler, and its id is kept.
   */
  const giveUp = async (job: BullmqDeadJob): Promise<boolean> => {
    try {
      await job.updateData(doneJobOf(job.data, "discarded"));
    } catch (error) {
      if (!(error instanceof UnreadableJobError)) throw error;
      await job.remove();
      return true;
    }
    return runAgain(job);
  };

  const eachOf =
    (act: (job: BullmqDeadJob) => Promise<boolean>) =>
    (ids: readonly string[]): Promise<ReadonlySet<string>> =>
      withoutBody(async () => {
        const found = new Set<string>();
        for (const id of ids) {
          const job = await deadJob(id);
          if (job !== undefined && (await act(job))) found.add(id);
        }
        return found;
      });

  return deadDeliveriesOf({
    list: (limit, offset) =>
      withoutBody(async () => {
        const jobs = await queue.getJobs(["failed"], offset, offset + limit - 1, true);
        // One that was removed meanwhile.
        return jobs.filter((job) => job !== undefined).map(deliveryOf);
      }),
    replay: eachOf(runAgain),
    discard: eachOf(giveUp),
  });
}

function deliveryOf(job: BullmqDeadJob): DeadDelivery {
  const { id = deliveryIdOf(job.id ?? ""), type } = jobNameOf(job.data);
  return {
    ...{ id, type, attempts: job.attemptsMade },
    failedAt: new Date(job.finishedOn ?? 0),
    error: wordsOfText(job.failedReason),
  };
}

async function withoutBody<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw queueErrorOf("BullMQ", error);
  }
}
