import { pause, within } from "../../common/timers.js";
import { pollMessages } from "../polling.js";
import { queueErrorOf } from "../queue-error.js";
import type { QueueMessage, ReceiveOptions, Receiving } from "../queue-driver.js";
import type { PgBossJob } from "./client.js";
import { messageOf, type PgBossQueues } from "./messages.js";

/** A dead connection never answers. The next call takes another connection. */
const CALL_TIMEOUT_MS = 10_000;

/**
 * Fetches jobs and runs them until it is stopped.
 *
 * pg-boss's own `work` is not used: its handler cannot delay a run, bury a job at once, or end one that did not fail.
 */
export function receiveJobs(
  queues: PgBossQueues,
  pollIntervalMs: number,
  run: (message: QueueMessage) => Promise<void>,
  options: ReceiveOptions,
): Receiving {
  const { boss, name } = queues;
  /** Jobs that arrived after the timeout of their fetch. */
  const late: PgBossJob[] = [];

  const take = async (most: number): Promise<readonly PgBossJob[]> => {
    if (late.length > 0) return late.splice(0, most);
    await queues.open();
    const fetching = boss.fetch(name, { batchSize: most, includeMetadata: true });
    return within(CALL_TIMEOUT_MS, "pg-boss's fetch", fetching, (arrived) => late.push(...arrived));
  };
  const runJob = async (job: PgBossJob): Promise<void> => {
    const ended = new AbortController();
    await run(keptMessage(messageOf(queues, job), job, options, ended.signal));
    ended.abort();
  };
  return pollMessages(
    { take, run: runJob, idleMs: pollIntervalMs },
    {
      concurrency: options.concurrency,
      onError(error) {
        queues.reset();
        options.onError(queueErrorOf("the fetch of jobs from pg-boss failed", error));
      },
    },
  );
}

/**
 * The message, touched for as long as its last extension holds. pg-boss holds a job for the heartbeat of its queue
 * only, and a worker with a long lease extends it less often than that.
 */
function keptMessage(
  message: QueueMessage & Required<Pick<QueueMessage, "extend">>,
  { heartbeatSeconds }: PgBossJob,
  receiving: ReceiveOptions,
  ended: AbortSignal,
): QueueMessage {
  const heartbeatMs = (heartbeatSeconds ?? Infinity) * 1_000;
  if (heartbeatMs >= receiving.leaseMs) return message;
  let heldUntil = performance.now() + receiving.leaseMs;
  const keep = async (): Promise<void> => {
    for (;;) {
      await pause(heartbeatMs / 3, ended);
      if (ended.aborted || performance.now() >= heldUntil) return;
      await within(CALL_TIMEOUT_MS, "pg-boss's touch", message.extend(0)).catch((error: unknown) =>
        receiving.onError(error),
      );
    }
  };
  void keep();
  return {
    ...message,
    extend(ms) {
      heldUntil = performance.now() + ms;
      return message.extend(ms);
    },
  };
}
