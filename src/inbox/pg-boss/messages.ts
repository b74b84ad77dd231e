import { isQueuedId, jobNameOf } from "../inbox-job.js";
import type { QueueMessage, QueueSettlement } from "../queue-driver.js";
import { isTaken, type PgBossClient, type PgBossJob } from "./client.js";

/** A queue of pg-boss, and the queue of its dead jobs. */
export interface PgBossQueues {
  readonly boss: PgBossClient;
  readonly name: string;
  readonly deadName: string;
  /** How long a job waits for a run before pg-boss deletes it. */
  readonly retentionSeconds: number;
  /** Makes the queues, once. */
  open(): Promise<void>;
  /** Makes them again at the next use: someone may have deleted them. */
  reset(): void;
}

/**
 * pg-boss counts the fetches of a job, and knows neither a run that did not fail nor a crash. `retryLimit` is the one
 * number of a job that a settlement can set, and no job comes near it. So it holds two: the attempt, and how many
 * fetches came before the last run that ended by itself. What came after those are crashes.
 */
const STEP = 2_000_000;

/** The `retryLimit` of a job whose next run is this attempt. `fetches`: how often it was fetched until then. */
export function retryLimitOf(attempt: number, fetches: number): number {
  return attempt * STEP + Math.min(fetches, STEP - 1);
}

/** Which run of a job this is. */
function runOf({ retryCount, retryLimit }: PgBossJob) {
  const attempt = Math.floor(retryLimit / STEP);
  // Another program put it, with settings of its own.
  if (attempt === 0) return { attempt: retryCount + 1, maxAttempts: retryLimit + 1, crashes: 0 };
  return { attempt, crashes: Math.max(0, retryCount - (retryLimit % STEP)) };
}

/** The id of the delivery, or of a job that the inbox did not make. */
export function idOf({ id, singletonKey }: PgBossJob): string {
  return isQueuedId(singletonKey) ? singletonKey : id;
}

/** The message of a job. Every call names its run, so a worker that has lost it cannot change the run of another. */
export function messageOf(
  queues: PgBossQueues,
  job: PgBossJob,
): Required<Pick<QueueMessage, "extend">> & QueueMessage {
  const { boss, name, deadName, retentionSeconds } = queues;
  const { id, data, retryCount } = job;
  const run = { id, retryCount };
  const { attempt, maxAttempts, crashes } = runOf(job);
  const touch = () => isTaken(boss.touch(name, run));

  const retry = async (again: QueueSettlement & { result: "retry" }): Promise<boolean> => {
    const { afterMs, error, isLeased } = again;
    const output = error === undefined ? null : outputOf(error, attempt);
    // The queue's own delay is long enough for the next call. Without it the job runs after that delay.
    if (!(await isTaken(boss.fail(name, run, output)))) return false;
    const next = error === undefined ? attempt : attempt + 1;
    const fetches = retryCount + 1 - (isLeased === true ? crashes : 0);
    const retryLimit = retryLimitOf(next, fetches);
    const startAfter = afterMs / 1_000;
    await boss.update(name, undefined, { id, startAfter, retryLimit, retentionSeconds });
    return true;
  };
  const bury = async (error: Error): Promise<boolean> => {
    if (!(await touch())) return false;
    // If this stops in the middle, the job is in both queues: it runs again, and its dead letter is known by its id.
    await boss.send(deadName, data as object, {
      id,
      singletonKey: jobNameOf(data).id ?? idOf(job),
    });
    await boss.fail(deadName, id, outputOf(error, attempt));
    return isTaken(boss.deleteJob(name, run));
  };

  return {
    id: idOf(job),
    data,
    attempt,
    maxAttempts,
    crashes,
    enqueuedAt: job.createdOn,
    extend: touch,
    async settle(settlement) {
      switch (settlement.result) {
        case "done":
          // Whatever became of the run: the delivery is handled.
          return isTaken(boss.deleteJob(name, id));
        case "retry":
          return retry(settlement);
        case "dead":
          return bury(settlement.error);
      }
    },
  };
}

/** What a failed run stores in the job, for operators. */
function outputOf({ message, stack = "" }: Error, attempts: number) {
  return { attempts, message: storable(message), stack: storable(stack) };
}

/** jsonb refuses U+0000 and half a surrogate pair. The write would fail and the job stay active until it expires. */
function storable(text: string): string {
  return text.replace(/[\0\p{Surrogate}]/gu, "\ufffd");
}
