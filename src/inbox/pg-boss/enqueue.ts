import { ConfigurationError } from "../../common/errors.js";
import { within } from "../../common/timers.js";
import { integerOption, ownOptions } from "../../common/option-checks.js";
import { checkClient, checkQueueName } from "../client-methods.js";
import type { Enqueue } from "../inbox.js";
import { QueueError } from "../queue-error.js";
import { DEFAULT_QUEUE, RETRY_OPTIONS, type RetryOptions } from "../retry-options.js";
import type { PgBossProducer } from "./client.js";
import { pgBossJobId } from "./job-id.js";

/** Options of `pgBossEnqueue`. */
export interface PgBossEnqueueOptions extends RetryOptions {
  /** A started `PgBoss` of version 10. */
  boss: PgBossProducer;
  /** The queue's name, default `"gateway-deliveries"`. It is made where there is none. */
  queue?: string | undefined;
  /** The queue for jobs that failed for good, default `<queue>-dead`. It is made where there is none. */
  deadLetter?: string | undefined;
  /**
   * How long one run may take before the engine gives the job to another worker; a crashed worker's
   * jobs wait that long too, and up to pg-boss's `maintenanceIntervalSeconds` more. Milliseconds, from
   * 1 000 to 86 399 000, default 900 000 (15 minutes). `retryDelayMs` and this are rounded up to seconds.
   */
  expireInMs?: number | undefined;
  /**
   * How long a job may wait for a worker, at each try, before pg-boss deletes it unhandled; as a dead letter
   * twice that. Milliseconds, from 259 200 000 (72 hours) to 3 153 600 000 000, default 31 536 000 000 (365 days).
   */
  pendingRetentionMs?: number | undefined;
}

/** All deliveries wait for the one making of the queues, which must not hang them for good. */
const MAKING_TIMEOUT_MS = 5_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const OPTION_NAMES = [
  "boss",
  "queue",
  "deadLetter",
  "retryLimit",
  "retryDelayMs",
  "expireInMs",
  "pendingRetentionMs",
];
// pg-boss refuses a day and more.
const EXPIRE_IN = { fallback: 900_000, min: 1_000, max: 86_399_000 };
const PENDING_RETENTION = {
  fallback: 365 * 24 * HOUR_MS,
  min: 72 * HOUR_MS,
  max: 36_500 * 24 * HOUR_MS,
};

/**
 * Puts deliveries into a queue of pg-boss: `inbox({ enqueue: pgBossEnqueue({ boss }) })`. The write is
 * one row in PostgreSQL, committed before the gateway hears of it. A delivery that pg-boss knows, be it
 * archived, makes no second job; how long it knows one is set by its `archiveCompletedAfterSeconds` and
 * `deleteAfterDays` (default 7 days and 12 hours together; keep it at 72 hours or more).
 *
 * @throws ConfigurationError where an option cannot work.
 */
export function pgBossEnqueue(options: PgBossEnqueueOptions): Enqueue {
  const own = ownOptions("pgBossEnqueue", options, OPTION_NAMES);
  const { boss, queue = DEFAULT_QUEUE, deadLetter = `${queue}-dead` } = own;
  checkClient("boss", boss, ["createQueue", "send", "getJobById"]);
  checkQueueName("queue", queue);
  checkQueueName("deadLetter", deadLetter);
  if (queue === deadLetter) {
    throw new ConfigurationError("invalid_option", "deadLetter has to be another queue than queue");
  }
  const settings = settingsOf(own);
  let queuesMade: Promise<void> | undefined;

  const createQueues = async (): Promise<void> => {
    await boss.createQueue(deadLetter, { name: deadLetter });
    // What somebody else puts in is to be dead-lettered too; our jobs bring the same settings along.
    await boss.createQueue(queue, { name: queue, deadLetter, ...settings });
  };

  const makeQueues = async (): Promise<void> => {
    try {
      await within(MAKING_TIMEOUT_MS, "the making of pg-boss's queues", createQueues());
    } catch (error) {
      queuesMade = undefined;
      throw error;
    }
  };

  const isKnown = async (id: string): Promise<boolean> => {
    const job = await boss.getJobById(queue, id, { includeArchive: true });
    return job !== null && job !== undefined;
  };

  return async (job) => {
    queuesMade ??= makeQueues();
    await queuesMade;
    const id = await pgBossJobId(job.id);
    // `send` itself looks at the jobs that are not archived yet, 12 hours by default, and the gateway's
    // attempts span 36.
    if (await isKnown(id)) return;
    if ((await boss.send(queue, job, { id, deadLetter, ...settings })) === id) return;
    // Null is not only a known id, but also a queue that is not there, or whose policy refuses the job:
    // acknowledged, the delivery would be lost.
    if (await isKnown(id)) return;
    queuesMade = undefined;
    throw new QueueError(
      `pg-boss took no job into the queue ${queue}: it has to exist, with the policy "standard"`,
    );
  };
}

function settingsOf(options: PgBossEnqueueOptions) {
  const retryDelayMs = integerOption(
    "retryDelayMs",
    options.retryDelayMs,
    RETRY_OPTIONS.retryDelayMs,
  );
  const expireInMs = integerOption("expireInMs", options.expireInMs, EXPIRE_IN);
  const { pendingRetentionMs } = options;
  const retentionMs = integerOption("pendingRetentionMs", pendingRetentionMs, PENDING_RETENTION);
  return {
    retryLimit: integerOption("retryLimit", options.retryLimit, RETRY_OPTIONS.retryLimit),
    retryDelay: Math.ceil(retryDelayMs / 1000),
    retryBackoff: true,
    expireInSeconds: Math.ceil(expireInMs / 1000),
    retentionMinutes: Math.ceil(retentionMs / MINUTE_MS),
  };
}
