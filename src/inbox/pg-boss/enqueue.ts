import { invalidOption } from "../../common/errors.js";
import { within } from "../../common/timers.js";
import { integerOptions } from "../../common/option-checks.js";
import type { Enqueue } from "../inbox.js";
import { pgBossJobId } from "../job-id.js";
import { QueueError } from "../queue-error.js";
import {
  checkQueueName,
  ownQueueOptions,
  RETRY_OPTIONS,
  type RetryOptions,
} from "../queue-options.js";
import type { PgBossProducer } from "./client.js";
import { addJob, type JobSettings } from "./new-job.js";
import { deadLetterQueueOf, oldestWaitOf, queueOf } from "./sql.js";

/** Options of `pgBossEnqueue`. */
export interface PgBossEnqueueOptions extends RetryOptions {
  /** A started `PgBoss` of pg-boss 10. */
  boss: PgBossProducer;
  /** The queue's name. Default `"gateway-deliveries"`. The queue is created if it does not exist. */
  queueName?: string | undefined;
  /**
   * The name of the queue for jobs that have failed for good. Default `<queueName>-dead`. The queue is
   * created if it does not exist. A queue keeps the name with which it was created: with another one,
   * `enqueue` rejects, because dead jobs would not be found.
   */
  deadLetterQueueName?: string | undefined;
  /**
   * How long one run may take before the engine gives the job to another worker. The job of a crashed
   * worker waits for the same time, plus up to pg-boss's `maintenanceIntervalSeconds`. Milliseconds, from
   * 1 000 to 86 399 000, default 900 000 (15 minutes). This and `retryDelayMs` are rounded up to whole
   * seconds.
   */
  expireInMs?: number | undefined;
  /**
   * How long a job may wait for a worker before pg-boss deletes it unhandled. The time starts again with
   * each retry, and is twice as long for a dead job. Milliseconds, from 259 200 000 (72 hours) to
   * 3 153 600 000 000, default 31 536 000 000 (365 days).
   */
  pendingRetentionMs?: number | undefined;
  /** The schema that the PgBoss uses. Default `"pgboss"`. */
  schema?: string | undefined;
}

/** Every delivery waits for the creation of the queues, so a dead connection must not block it forever. */
const CREATE_TIMEOUT_MS = 5_000;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const INTEGER_OPTIONS = {
  ...RETRY_OPTIONS,
  // pg-boss refuses 24 hours and more.
  expireInMs: { fallback: 900_000, min: 1_000, max: 86_399_000 },
  pendingRetentionMs: { fallback: 365 * DAY_MS, min: 3 * DAY_MS, max: 36_500 * DAY_MS },
};
const OPTION_NAMES = [
  ...Object.keys(INTEGER_OPTIONS),
  "boss",
  "queueName",
  "deadLetterQueueName",
  "schema",
];

/**
 * Makes the `enqueue` of an inbox that writes to a queue of pg-boss. Each job is one row in PostgreSQL,
 * committed before the gateway is answered. The inbox writes it by a statement of its own: pg-boss's `send`
 * would need two further round trips to find a job that is archived.
 *
 * A redelivery makes no second job as long as pg-boss keeps the first one, archived jobs included. How long
 * that is depends on pg-boss's `archiveCompletedAfterSeconds` and `deleteAfterDays`: 7 days and 12 hours by
 * default. Keep the sum at 72 hours or more.
 *
 * @example
 * ```ts
 * const boss = new PgBoss(process.env.DATABASE_URL);
 * await boss.start();
 * const receiver = createWebhookReceiver({
 *   secret: process.env.GATEWAY_WEBHOOK_SECRET,
 *   handlers: inbox({ enqueue: pgBossEnqueue({ boss }) }),
 * });
 * ```
 *
 * @throws ConfigurationError if an option is invalid, and (`unsupported_version`) for a PgBoss of pg-boss 11
 * or later.
 */
export function pgBossEnqueue(options: PgBossEnqueueOptions): Enqueue {
  const own = ownQueueOptions("pgBossEnqueue", options, OPTION_NAMES);
  const queue = queueOf(own, ["createQueue", "getDb"]);
  const { name: queueName, schema } = queue;
  const { boss, deadLetterQueueName: deadLetter = `${queueName}-dead` } = own;
  checkQueueName("deadLetterQueueName", deadLetter);
  if (queueName === deadLetter) {
    throw invalidOption("deadLetterQueueName must be another queue than queueName");
  }
  const settings = settingsOf(own, deadLetter);
  let queuesCreated: Promise<void> | undefined;

  const createQueues = async (): Promise<void> => {
    await boss.createQueue(deadLetter, { name: deadLetter });
    // Our jobs have these settings themselves. The queue needs them for jobs that others put into it.
    await boss.createQueue(queueName, { name: queueName, ...settings });
    // pg-boss leaves an existing queue as it is. Dead jobs are looked for in the queue that it has stored.
    const [row] = await queue.run(`SELECT ${deadLetterQueueOf(schema)} AS stored`);
    const stored = row?.["stored"];
    if (typeof stored !== "string" || stored === deadLetter) return;
    throw new QueueError(
      `the queue ${queueName} keeps its dead jobs in ${stored}, not in ${deadLetter}: give pgBossEnqueue the deadLetterQueueName ${stored}`,
    );
  };

  const enqueue: Enqueue = async (job) => {
    queuesCreated ??= within(
      CREATE_TIMEOUT_MS,
      "the creation of pg-boss's queues",
      createQueues(),
    ).catch((error: unknown) => {
      queuesCreated = undefined;
      throw error;
    });
    await queuesCreated;
    const id = await pgBossJobId(job.id);
    if (await addJob(queue, settings, id, job)) return;
    // A 200 would lose the delivery.
    queuesCreated = undefined;
    throw new QueueError(
      `pg-boss took no job into the queue ${queueName}: it must exist, with the policy "standard"`,
    );
  };
  const oldestWaitMs = async (): Promise<number> => {
    const [row] = await queue.run(oldestWaitOf(schema));
    return Math.max(0, Number(row?.["ms"] ?? 0));
  };
  return Object.assign(enqueue, { queueName, oldestWaitMs });
}

function settingsOf(options: PgBossEnqueueOptions, deadLetter: string): JobSettings {
  const { retryLimit, retryDelayMs, expireInMs, pendingRetentionMs } = integerOptions(
    options,
    INTEGER_OPTIONS,
  );
  return {
    deadLetter,
    retryLimit,
    retryDelay: Math.ceil(retryDelayMs / 1000),
    retryBackoff: true,
    expireInSeconds: Math.ceil(expireInMs / 1000),
    retentionMinutes: Math.ceil(pendingRetentionMs / MINUTE_MS),
  };
}
