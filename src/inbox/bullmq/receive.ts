import { backend } from "#crypto";
import { pause, within } from "../../common/timers.js";
import { attemptOf, timeOf } from "../envelope.js";
import { deliveryIdOfBullmqJob, namedError, type BullmqJob, type BullmqWorker } from "./client.js";
import { pollMessages } from "../polling.js";
import type { QueueMessage, QueueSettlement, ReceiveOptions, Receiving } from "../queue-driver.js";

/** How long the fetch rests after it found no job, so that a rate limit does not make it spin. */
const IDLE_MS = 20;
/** How long a fetch on its way may take when the worker stops. A job that it has locked would stall. */
const LAST_FETCH_MS = 100;
const CLOSE_TIMEOUT_MS = 10_000;

/**
 * Fetches the jobs of a worker that has no processor, so that each settlement is a call of its own, whose result is
 * known. `lockMs`: the `lockDuration` of the worker.
 */
export function receiveJobs(
  worker: BullmqWorker,
  lockMs: number,
  run: (message: QueueMessage) => Promise<void>,
  options: ReceiveOptions,
): Receiving {
  const onError = (error: unknown): void => options.onError(namedError(error));

  const runJob = async ({ job, token }: FetchedJob): Promise<void> => {
    const [lost, ended] = [new AbortController(), new AbortController()];
    const message = messageOf(job, token, lost.signal);
    const { deferredFailure } = job;
    try {
      if (deferredFailure !== undefined) {
        // Reported before it is written: after a crash in between, the next worker reports it again.
        options.onBuried(message, deferredFailure);
        await message.settle({ result: "dead", error: new Error(deferredFailure) });
        return;
      }
      void keepLock(job, token, lockMs, lost, ended.signal, onError);
      await run(message);
    } finally {
      ended.abort();
    }
  };

  worker.on("error", onError);
  void Promise.resolve(worker.startStalledCheckTimer()).catch(onError);
  const take = (_most: number, signal: AbortSignal) => fetchJob(worker, signal);
  const receiving = pollMessages({ take, run: runJob, idleMs: IDLE_MS }, { ...options, onError });
  return {
    async stop(given) {
      await receiving.stop(given);
      // By force, or it waits for the command with which the idle fetch blocks.
      await within(CLOSE_TIMEOUT_MS, "the end of BullMQ's worker", worker.close(true));
    },
  };
}

interface FetchedJob {
  readonly job: BullmqJob;
  readonly token: string;
}

/** Resolves to the next job; to none if there is none for a while, or the worker stops. */
async function fetchJob(worker: BullmqWorker, signal: AbortSignal): Promise<FetchedJob[]> {
  const token = backend.randomUuid();
  const fetch = async (): Promise<FetchedJob[]> => {
    const job = await worker.getNextJob(token);
    if (job === undefined) return [];
    if (!signal.aborted) return [{ job, token }];
    await job.moveToWait(token);
    return [];
  };
  return new Promise((resolve, reject) => {
    fetch().then(resolve, reject);
    const end = (): void => void pause(LAST_FETCH_MS).then(() => resolve([]));
    signal.addEventListener("abort", end, { once: true });
  });
}

/** Renews the lock of a job until its run has ended. Aborts `lost` when another worker may have the job. */
async function keepLock(
  job: BullmqJob,
  token: string,
  lockMs: number,
  lost: AbortController,
  ended: AbortSignal,
  onError: (error: unknown) => void,
): Promise<void> {
  let heldUntil = performance.now() + lockMs;
  while (!lost.signal.aborted) {
    await pause(lockMs / 3, ended);
    if (ended.aborted) return;
    const askedAt = performance.now();
    try {
      const extending = job.extendLock(token, lockMs);
      const isHeld = await within(heldUntil - askedAt, "BullMQ's renewal of a lock", extending);
      if (isHeld === 0) lost.abort();
      heldUntil = askedAt + lockMs;
    } catch (error) {
      onError(error);
      if (performance.now() >= heldUntil) lost.abort();
    }
  }
}

function messageOf(job: BullmqJob, token: string, lost: AbortSignal): QueueMessage {
  const putAt = timeOf(job.timestamp);
  return {
    id: deliveryIdOfBullmqJob(job.id ?? ""),
    data: job.data,
    attempt: attemptOf(job.attemptsMade + 1),
    enqueuedAt: putAt === undefined ? undefined : new Date(putAt),
    lost,
    async settle(settlement) {
      try {
        await settle(job, token, settlement);
        return true;
      } catch (error) {
        // BullMQ's scripts refuse by a negative code, such as -2: the lock is gone.
        const { code } = Object(error) as { readonly code?: unknown };
        if (typeof code === "number" && code < 0) return false;
        throw error;
      }
    },
  };
}

/** BullMQ follows the options of the job at hand. They are set here, so that jobs of other programs get them too. */
async function settle(job: BullmqJob, token: string, settlement: QueueSettlement): Promise<void> {
  switch (settlement.result) {
    case "done":
      Object.assign(job.opts, { removeOnComplete: true });
      await job.moveToCompleted(undefined, token, false);
      return;
    case "dead":
      Object.assign(job.opts, { attempts: 1, removeOnFail: false });
      await job.moveToFailed(settlement.error, token, false);
      return;
    case "retry": {
      const { afterMs, error } = settlement;
      if (error === undefined) {
        // Counts no attempt.
        await job.moveToDelayed(Date.now() + afterMs, token);
        return;
      }
      const backoff = { type: "fixed", delay: Math.max(1, afterMs) };
      Object.assign(job.opts, { attempts: Number.MAX_SAFE_INTEGER, backoff });
      await job.moveToFailed(error, token, false);
    }
  }
}
