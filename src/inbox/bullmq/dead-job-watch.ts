import { within } from "../../common/timers.js";
import { deliveryIdOfBullmqJob } from "../job-id.js";
import type { JobRunner } from "../job-runner.js";
import { redisOf, type BullmqWorker, type WorkerRedis } from "./client.js";

/** Failed jobs per page, newest first. */
const PAGE_SIZE = 100;
const PAGE_TIMEOUT_MS = 10_000;
/** How far the clocks of workers may differ. BullMQ dates a failure by the clock of its worker. */
const CLOCK_SKEW_MS = 600_000;
/** How long a worker may take to report a dead job. After that another worker reports it. */
const CLAIM_MS = 60_000;
const REPORTED = "reported";

/**
 * Finds dead jobs that no worker has reported. The worker that writes a failure reports it. But that
 * worker may crash in between, or its connection may lose Redis's answer. Whether a dead job has been
 * reported is stored in the job, so that all workers of the queue know it.
 */
export class DeadJobWatch {
  readonly #worker: BullmqWorker;
  readonly #graceMs: number;
  readonly #runner: JobRunner;
  /** Failures before this time have been checked. The first search checks all. */
  #checkedUntil = Number.NEGATIVE_INFINITY;

  /** `graceMs` is the time in which the worker that wrote a failure reports it. */
  constructor(worker: BullmqWorker, graceMs: number, runner: JobRunner) {
    this.#worker = worker;
    this.#graceMs = graceMs;
    this.#runner = runner;
  }

  /** Reports the dead jobs that no worker has reported, until `stopping` aborts. Rejects if Redis does. */
  async reportMissed(stopping: AbortSignal): Promise<void> {
    const begunAt = Date.now();
    for (let start = 0, hasMore = true; hasMore; start += PAGE_SIZE) {
      if (stopping.aborted) return;
      const what = "the search for unreported dead jobs of BullMQ";
      hasMore = await within(PAGE_TIMEOUT_MS, what, this.#checkPage(start));
    }
    this.#checkedUntil = begunAt - CLOCK_SKEW_MS;
  }

  /** Stores that this dead job has been reported. Rejects if Redis does. */
  async markReported(jobId: string, finishedOn: number): Promise<void> {
    const redis = await redisOf(this.#worker);
    await setJobField(redis, this.#worker.toKey(jobId), reportFieldOf(finishedOn), REPORTED);
  }

  /** Resolves to whether there may be more unchecked jobs on the next page. */
  async #checkPage(start: number): Promise<boolean> {
    const redis = await redisOf(this.#worker);
    const failedKey = this.#worker.toKey("failed");
    const ids = await redis.zrevrange(failedKey, start, start + PAGE_SIZE - 1);
    const areRecent = await Promise.all(ids.map((id) => this.#checkJob(redis, id)));
    return ids.length === PAGE_SIZE && areRecent.includes(true);
  }

  /** Reports the job if no worker has. Resolves to false if an earlier search has checked it. */
  async #checkJob(redis: WorkerRedis, jobId: string): Promise<boolean> {
    const key = this.#worker.toKey(jobId);
    const [finished, attemptsMade] = await redis.hmget(key, "finishedOn", "atm");
    const finishedOn = Number(finished ?? Number.NaN);
    // Not a number if the job was removed or is run again.
    if (Number.isNaN(finishedOn)) return true;
    if (finishedOn < this.#checkedUntil) return false;
    if (finishedOn > Date.now() - this.#graceMs) return true;
    const field = reportFieldOf(finishedOn);
    const claim = await redis.hget(key, field);
    if (claim === REPORTED || Number(claim) > Date.now() - CLAIM_MS) return true;
    const added = await setJobField(redis, key, field, Date.now());
    if (added === undefined || (claim === null && added === 0)) return true;
    const [data = null, reason = null] = await redis.hmget(key, "data", "failedReason");
    const id = deliveryIdOfBullmqJob(jobId);
    this.#runner.reportGivenUp(parseJson(data), id, Number(attemptsMade ?? 0), reason);
    await setJobField(redis, key, field, REPORTED);
    return true;
  }
}

/**
 * Sets a field of a job. Resolves to the number of added fields, or undefined if the job no longer exists.
 * The field of a removed job is deleted again: BullMQ would take the remaining key for a job, and the next
 * delivery of that id for a duplicate.
 */
async function setJobField(
  redis: WorkerRedis,
  key: string,
  field: string,
  value: string | number,
): Promise<number | undefined> {
  const added = await redis.hset(key, { [field]: value });
  if ((await redis.hget(key, "timestamp")) !== null) return added;
  await redis.hdel(key, field);
  return undefined;
}

/** A replayed job may die again, which is another report. So the field contains the time of death. */
function reportFieldOf(finishedOn: number): string {
  return `gateway-dead:${String(finishedOn)}`;
}

function parseJson(text: string | null): unknown {
  try {
    return JSON.parse(text ?? "null");
  } catch {
    return undefined;
  }
}
