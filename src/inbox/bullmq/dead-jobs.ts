import { deadDeliveriesOf, type DeadDeliveries, type DeadDelivery } from "../dead-deliveries.js";
import { jobNameOf } from "../inbox-job.js";
import { bullmqJobId, deliveryIdOfBullmqJob } from "../job-id.js";
import { wordsOfText } from "../queue-error.js";
import type { BullmqQueue, BullmqStoredJob } from "./client.js";

/** The failed jobs of a queue. BullMQ keeps them, with their bodies, until they are replayed or discarded. */
export function deadJobsOf(queue: BullmqQueue): DeadDeliveries {
  // A job that the inbox did not make is listed under its own id.
  const jobOf = async (id: string): Promise<BullmqStoredJob | undefined> =>
    (await queue.getJob(bullmqJobId(id))) ?? (await queue.getJob(id));
  const forEach = async (
    ids: readonly string[],
    act: (job: BullmqStoredJob) => PromiseLike<unknown>,
  ): Promise<ReadonlySet<string>> => {
    const found = new Set<string>();
    for (const id of ids) {
      const job = await jobOf(id);
      if (job !== undefined && (await job.isFailed()) && (await isDone(job, act))) found.add(id);
    }
    return found;
  };

  const replay = (ids: readonly string[]) =>
    forEach(ids, (job) => job.retry("failed", { resetAttemptsMade: true }));
  const unhandled = async (ids: readonly string[]) => {
    const found = new Map<string, "open" | "failed">();
    for (const id of ids) {
      const job = await jobOf(id);
      if (job === undefined) continue;
      const hasFailed = job.attemptsMade > 0 || (await job.isFailed());
      found.set(id, hasFailed ? "failed" : "open");
    }
    return found;
  };

  return deadDeliveriesOf("BullMQ", {
    async list(limit, offset) {
      const jobs = await queue.getJobs(["failed"], offset, offset + limit - 1, true);
      // A job that was removed after its id was read is undefined.
      return jobs.filter((job) => job !== undefined).map(deadDeliveryOf);
    },
    replay,
    discard: (ids) => forEach(ids, (job) => job.remove()),
    watch: () => ({ replay, unhandled }),
  });
}

/** False if another call was faster, so that the job is no longer among the failed ones. */
async function isDone(
  job: BullmqStoredJob,
  act: (job: BullmqStoredJob) => PromiseLike<unknown>,
): Promise<boolean> {
  try {
    await act(job);
    return true;
  } catch (error) {
    if (await job.isFailed()) throw error;
    return false;
  }
}

function deadDeliveryOf(job: BullmqStoredJob): DeadDelivery {
  const { id = deliveryIdOfBullmqJob(job.id ?? ""), type } = jobNameOf(job.data);
  return {
    id,
    type,
    attempts: job.attemptsMade,
    failedAt: new Date(job.finishedOn ?? 0),
    error: wordsOfText(job.failedReason),
  };
}
