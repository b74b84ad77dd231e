import { invalidOption } from "../../common/errors.js";
import { integerOptions, ownOptions } from "../../common/option-checks.js";
import { within } from "../../common/timers.js";
import type { DeadDeliveries } from "../dead-deliveries.js";
import { pgBossJobId } from "../job-id.js";
import type { QueueDriver } from "../queue-driver.js";
import { QueueError } from "../queue-error.js";
import {
  checkQueueName,
  DEFAULT_QUEUE_NAME,
  RETRY_OPTIONS,
  type RetryOptions,
} from "../queue-options.js";
import { checkBoss, type PgBossClient } from "./client.js";
import { deadLettersOf } from "./dead-letters.js";
import { receiveJobs } from "./receive.js";
import { deadLetterQueueOf, isDeadLetterOf, tablesOf } from "./sql.js";

/**
 * Options of `pgBossQueue`. `retryLimit` and `retryDelayMs` are stored in each job, for runs whose worker crashed;
 * `inboxConsume` has its own for those whose handler failed. The lower `retryLimit` of the two applies. The delay is
 * rounded up to whole seconds.
 */
export interface PgBossQueueOptions extends RetryOptions {
  /**
   * A started `PgBoss` of pg-boss 10. At least one PgBoss on the database must have `supervise` on, which
   * is the default.
   */
  boss: PgBossClient;
  /** The queue's name. Default `"gateway-deliveries"`. `put` creates the queue if it does not exist. */
  queueName?: string | undefined;
  /**
   * The name of the queue for jobs that have failed for good. Default `<queueName>-dead`. The queue is
   * created if it does not exist. A queue keeps the name with which it was created: with another one,
   * `put` rejects, because dead jobs would not be found.
   */
  deadLetterQueueName?: string | undefined;
  /**
   * How long a fetched job stays with its worker until the first extension, which `inboxConsume` makes after a third
   * of its `leaseMs`. The job of a crashed worker waits for as long, plus up to pg-boss's
   * `maintenanceIntervalSeconds`, before it runs again. Milliseconds, from 1 000 to 86 399 000, default 60 000;
   * rounded up to whole seconds. A worker with a longer `leaseMs` extends each job right after its fetch.
   */
  expireInMs?: number | undefined;
  /**
   * How long a job may wait for a worker before pg-boss deletes it unhandled. The time starts again with
   * each retry, and is twice as long for a dead job. Milliseconds, from 259 200 000 (72 hours) to
   * 3 153 600 000 000, default 31 536 000 000 (365 days).
   */
  pendingRetentionMs?: number | undefined;
  /**
   * How long a worker waits before it polls an empty queue again, in milliseconds. From 100 to 600 000, default
   * 1 000.
   */
  pollIntervalMs?: number | undefined;
  /** The schema that the PgBoss uses. Default `"pgboss"`. */
  schema?: string | undefined;
}

/** pg-boss's own rule. The name becomes part of statements, where no parameter can stand for it. */
const SCHEMA = /^[A-Za-z_][A-Za-z0-9_]{0,49}$/;
/** Every delivery waits for the creation of the queues, so a dead connection must not block it forever. */
const CREATE_TIMEOUT_MS = 5_000;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const INTEGER_OPTIONS = {
  ...RETRY_OPTIONS,
  // pg-boss refuses 24 hours and more.
  expireInMs: { fallback: 60_000, min: 1_000, max: 86_399_000 },
  pendingRetentionMs: { fallback: 365 * DAY_MS, min: 3 * DAY_MS, max: 36_500 * DAY_MS },
  pollIntervalMs: { fallback: 1_000, min: 100, max: 600_000 },
};
const OPTION_NAMES = [
  ...Object.keys(INTEGER_OPTIONS),
  "boss",
  "queueName",
  "deadLetterQueueName",
  "schema",
];

/**
 * The queue driver for pg-boss 10, for `inbox`, for `inboxConsume`, and for operators, who list, replay and discard
 * dead jobs with it.
 *
 * `put` resolves when PostgreSQL has committed the job. A finished job is deleted with its body. A dead job waits in
 * the dead letter queue for twice `pendingRetentionMs` (default 2 years). Use no other worker on either queue.
 *
 * @example
 * ```ts
 * const boss = new PgBoss(process.env.DATABASE_URL);
 * await boss.start();
 * const driver = pgBossQueue({ boss });
 * const receiver = createWebhookReceiver({
 *   secret: process.env.GATEWAY_WEBHOOK_SECRET,
 *   handlers: inbox({ driver }),
 * });
 * const worker = inboxConsume({
 *   driver,
 *   store: postgresStore({ pool }),
 *   handlers: { new_alarm: (alarm, { id }) => openTicket(id, alarm) },
 * });
 * ```
 *
 * @throws ConfigurationError if an option is invalid, and (`unsupported_version`) for a PgBoss of pg-boss 11
 * or later.
 */
export function pgBossQueue(options: PgBossQueueOptions): QueueDriver<unknown> & DeadDeliveries {
  const own = ownOptions("pgBossQueue", options, OPTION_NAMES);
  const { boss, queueName: name = DEFAULT_QUEUE_NAME, schema = "pgboss" } = own;
  checkBoss(boss);
  checkQueueName("queueName", name);
  const { deadLetterQueueName: deadLetter = `${name}-dead` } = own;
  checkQueueName("deadLetterQueueName", deadLetter);
  if (name === deadLetter) {
    throw invalidOption("deadLetterQueueName must be another queue than queueName");
  }
  if (typeof schema !== "string" || !SCHEMA.test(schema)) {
    throw invalidOption("schema must be the name of pg-boss's schema");
  }
  const integers = integerOptions(own, INTEGER_OPTIONS);
  const settings = {
    deadLetter,
    retryLimit: integers.retryLimit,
    retryDelay: Math.ceil(integers.retryDelayMs / 1000),
    retryBackoff: true,
    expireInSeconds: Math.ceil(integers.expireInMs / 1000),
    retentionMinutes: Math.ceil(integers.pendingRetentionMs / MINUTE_MS),
  };
  const tables = tablesOf(boss, name, schema);
  let queuesCreated: Promise<void> | undefined;

  const createQueues = async (): Promise<void> => {
    await boss.createQueue(deadLetter, { name: deadLetter });
    // Our jobs have these settings themselves. The queue needs them for jobs that others put into it.
    await boss.createQueue(name, { name, ...settings });
    // pg-boss leaves an existing queue as it is. Dead jobs are looked for in the queue that it has stored.
    const [row] = await tables.run(`SELECT ${deadLetterQueueOf(schema)} AS stored`);
    const stored = row?.["stored"];
    if (typeof stored !== "string" || stored === deadLetter) return;
    throw new QueueError(
      `the queue ${name} keeps its dead jobs in ${stored}, not in ${deadLetter}: give pgBossQueue the deadLetterQueueName ${stored}`,
    );
  };

  return {
    name,
    extends: "message",
    async put(job) {
      const creating = "the creation of pg-boss's queues";
      queuesCreated ??= within(CREATE_TIMEOUT_MS, creating, createQueues()).catch(
        (error: unknown) => {
          queuesCreated = undefined;
          throw error;
        },
      );
      await queuesCreated;
      const id = await pgBossJobId(job.id);
      const isThere = async (text: string, ...values: unknown[]) =>
        (await tables.run(text, id, ...values)).some((row) => row["id"] === id);
      const add = () =>
        isThere(
          putStatement(schema),
          JSON.stringify(job),
          deadLetter,
          settings.expireInSeconds,
          settings.retentionMinutes,
          settings.retryLimit,
          settings.retryDelay,
        );
      // A job that was known to the first statement may be finished before the second.
      if ((await add()) || (await isThere(knownStatement(schema))) || (await add())) return;
      // A 200 would lose the delivery.
      queuesCreated = undefined;
      throw new QueueError(
        `pg-boss took no job into the queue ${name}: it must exist, with the policy "standard"`,
      );
    },
    async waiting() {
      const [row] = await tables.run(waitingStatement(schema));
      const { count, ms, dead } = row ?? {};
      return { count: Number(count), oldestMs: Math.max(0, Number(ms)), dead: Number(dead) };
    },
    receive: (run, receiving) => receiveJobs(boss, tables, integers.pollIntervalMs, run, receiving),
    ...deadLettersOf(tables),
  };
}

/**
 * Returns the id of the new job, and nothing if the job is known, if the queue does not exist, or if its policy
 * refuses the job. Names no columns of the conflict: pg-boss 10.0 has a primary key on the partitions only.
 */
function putStatement(schema: string): string {
  return `
    INSERT INTO ${schema}.job (
      id, name, data, dead_letter, expire_in, keep_until,
      retry_limit, retry_delay, retry_backoff, policy
    )
    SELECT $2::uuid, name, $3::jsonb, $4, $5 * interval '1 s', now() + $6 * interval '1 min',
      $7::int, $8::int, true, policy
    FROM ${schema}.queue
    WHERE name = $1
    ON CONFLICT DO NOTHING
    RETURNING id`;
}

function knownStatement(schema: string): string {
  return `SELECT id FROM ${schema}.job WHERE name = $1 AND id = $2`;
}

function waitingStatement(schema: string): string {
  return `
    SELECT count(*) AS count,
      COALESCE(EXTRACT(EPOCH FROM now() - min(start_after)) * 1000, 0) AS ms,
      (SELECT count(*) FROM ${schema}.job WHERE ${isDeadLetterOf(schema)}) AS dead
    FROM ${schema}.job
    WHERE name = $1 AND state < 'active' AND start_after <= now()`;
}
