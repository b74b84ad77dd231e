import {
  deadDeliveriesOf,
  deadLettersById,
  type DeadDeliveries,
  type DeadJob,
} from "../dead-deliveries.js";
import { countOf, timeOf } from "../envelope.js";
import { jobNameOf } from "../inbox-job.js";
import {
  bullmqJobId,
  deliveryIdOfBullmqJob,
  type BullmqQueue,
  type BullmqStoredJob,
} from "./client.js";
import { wordsOfText } from "../queue-error.js";

/** The failed jobs of a queue. BullMQ keeps them, with their bodies, until they are replayed or discarded. */
export function deadJobsOf(queue: BullmqQueue): DeadDeliveries {
  // A job that the inbox did not make is listed under its own id.
  const jobOf = async (id: string): Promise<BullmqStoredJob | undefined> =>
    (await queue.getJob(bullmqJobId(id))) ?? (await queue.getJob(id));
  const take = async (
    id: string,
    act: (job: BullmqStoredJob) => PromiseLike<unknown>,
  ): Promise<boolean> => {
    const job = await jobOf(id);
    return job !== undefined && (await job.isFailed()) && isDone(job, act);
  };
  const letters = deadLettersById({
    async list(limit, offset) {
      const jobs = await queue.getJobs(["failed"], offset, offset + limit - 1, true);
      // A job that was removed after its id was read is undefined.
      return jobs.filter((job) => job !== undefined).map(deadDeliveryOf);
    },
    replay: (id) => take(id, (job) => job.retry("failed", { resetAttemptsMade: true })),
    discard: (id) => take(id, (job) => job.remove()),
  });
  return deadDeliveriesOf("BullMQ", letters);
}

/** False if another call was faster, so that the job is no longer among the failed ones. */
async function isDone(job: BullmqStoredJob, act: (job: BullmqStoredJob) => PromiseLike<unknown>) {
  try {
    await act(job);
    return true;
  } catch (error) {
    if (await job.isFailed()) throw error;
    return false;
  }
}

function deadDeliveryOf(job: BullmqStoredJob): DeadJob {
  const { id, type } = jobNameOf(job.data);
  const jobId = job.id ?? "";
  return {
    // The queue knows a job by its own id alone.
    id: id !== undefined && bullmqJobId(id) === jobId ? id : deliveryIdOfBullmqJob(jobId),
    type,
    attempts: countOf(job.attemptsMade),
    failedAt: new Date(timeOf(job.finishedOn) ?? 0),
    error: wordsOfText(job.failedReason),
    data: job.data,
  };
}
