import { within } from "../../common/timers.js";
import { jobNameOf } from "../inbox-job.js";
import type { GivenUpJob } from "../job-runner.js";
import { DeadJobError } from "../job-report.js";
import { wordsOfText } from "../queue-error.js";
import type { BullmqWorker } from "./client.js";
import { deliveryIdOf } from "./job-id.js";
import { redisOf, type WorkerRedis } from "./redis.js";

/** Knows which dead jobs have been reported, in the jobs themselves, so that all workers know it. */
export interface DeadWatch {
  /** The job has been reported as dead. Rejects where Redis does. */
  readonly markReported: (jobId: string, finishedOn: number) => Promise<void>;
  /** Reports the dead jobs that no worker has reported. Rejects where Redis does. */
  readonly look: () => Promise<void>;
}

/** A page of failed jobs, newest first. */
const PAGE = 100;
const PAGE_TIMEOUT_MS = 10_000;
/** How far the clocks of workers may differ. BullMQ dates a failure by the clock of its worker. */
const CLOCK_SKEW_MS = 600_000;
/** A worker that took over a report and crashed has its report taken over in turn. */
const CLAIM_MS = 60_000;
const REPORTED = "reported";

/**
 * Makes the watch of a queue's failed jobs. The worker that writes a failure reports it; a worker that
 * crashes between the two, or whose connection loses Redis's answer, leaves a dead job that no one knows
 * of. `graceMs`: how long the one who wrote it has.
 */
export function createDeadWatch(
  worker: BullmqWorker,
  graceMs: number,
  report: (job: GivenUpJob) => void,
  stopping: AbortSignal,
): DeadWatch {
  /** Failures before it have been looked at. The first look takes all. */
  let since = Number.NEGATIVE_INFINITY;

  const lookAt = async (redis: WorkerRedis, jobId: string): Promise<boolean> => {
    const key = worker.toKey(jobId);
    const [finished, made] = await redis.hmget(key, "finishedOn", "atm");
    const finishedOn = Number(finished ?? Number.NaN);
    // Removed, or run again.
    if (Number.isNaN(finishedOn)) return true;
    if (finishedOn < since) return false;
    if (finishedOn > Date.now() - graceMs) return true;
    const field = fieldOf(finishedOn);
    const claim = await redis.hget(key, field);
    if (claim === REPORTED || Number(claim) > Date.now() - CLAIM_MS) return true;
    const isNew = await mark(redis, key, field, Date.now());
    if (isNew === undefined || (claim === null && isNew === 0)) return true;
    const [data = null, reason = null] = await redis.hmget(key, "data", "failedReason");
    const { id = deliveryIdOf(jobId), type } = jobNameOf(parsed(data));
    const error = new DeadJobError(wordsOfText(reason) || "the engine gave the job up");
    report({ id, type, attempts: Number(made ?? 0), error });
    await mark(redis, key, field, REPORTED);
    return true;
  };

  /** Whether there is more to look at. */
  const lookAtPage = async (start: number): Promise<boolean> => {
    const redis = await redisOf(worker);
    const ids = await redis.zrevrange(worker.toKey("failed"), start, start + PAGE - 1);
    const areRecent = await Promise.all(ids.map((id) => lookAt(redis, id)));
    return ids.length === PAGE && areRecent.includes(true);
  };

  return {
    async look() {
      const begunAt = Date.now();
      for (let start = 0, hasMore = true; hasMore; start += PAGE) {
        if (stopping.aborted) return;
        const what = "the look at BullMQ's failed jobs";
        hasMore = await within(PAGE_TIMEOUT_MS, what, lookAtPage(start));
      }
      since = begunAt - CLOCK_SKEW_MS;
    },
    async markReported(jobId, finishedOn) {
      const redis = await redisOf(worker);
      await mark(redis, worker.toKey(jobId), fieldOf(finishedOn), REPORTED);
    },
  };
}

/**
 * Writes a field of a job; undefined where the job is gone. Written to such a job it would be a key without
 * a job, for which BullMQ takes the next delivery of that id for a duplicate.
 */
async function mark(
  redis: WorkerRedis,
  key: string,
  field: string,
  value: string | number,
): Promise<number | undefined> {
  const isNew = await redis.hset(key, { [field]: value });
  if ((await redis.hget(key, "timestamp")) !== null) return isNew;
  await redis.hdel(key, field);
  return undefined;
}

/** A job that is replayed may die again, which is another report. */
function fieldOf(finishedOn: number): string {
  return `gateway-dead:${String(finishedOn)}`;
}

function parsed(text: string | null): unknown {
  try {
    return JSON.parse(text ?? "null");
  } catch {
    return undefined;
  }
}
