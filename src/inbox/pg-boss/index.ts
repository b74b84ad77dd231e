import type { QueueState } from "../../telemetry/telemetry.js";
import { consoleLines, Log } from "../../answer/logger.js";
import { ErrorListenerCheck } from "../../common/error-listeners.js";
import { integerOptions, ownOptions } from "../../common/option-checks.js";
import { within } from "../../common/timers.js";
import { deadDeliveriesOf, type DeadDeliveries } from "../dead-deliveries.js";
import type { QueueDriver } from "../queue-driver.js";
import { QueueError } from "../queue-error.js";
import { queueNameOption } from "../queue-options.js";
import { checkBoss, type PgBossClient } from "./client.js";
import { deadLettersOf } from "./dead-letters.js";
import { retryLimitOf, type PgBossQueues } from "./messages.js";
import { receiveJobs } from "./receive.js";

export type { DeadDeliveries, DeadDelivery, Discarded, Replayed } from "../dead-deliveries.js";

/** Options of `pgBossQueue`. `boss` is required. */
export interface PgBossQueueOptions {
  /**
   * A started `PgBoss` of pg-boss 12.35 or later, which needs Node 22.12. At least one PgBoss on the database must
   * have `supervise` on, which is the default.
   */
  boss: PgBossClient;
  /**
   * The queue's name. Default `"gateway-deliveries"`. That of the queue of the dead jobs is `<queueName>-dead`. Both
   * are created if they do not exist, and have the settings of the process that opened them last.
   */
  queueName?: string | undefined;
  /**
   * How long a job stays with a worker that does not touch it, as when it crashed. The job then waits for up to
   * pg-boss's `monitorIntervalSeconds` and 10 s more before it runs again. Milliseconds, from 10 000 to 86 400 000,
   * default 60 000; rounded up to whole seconds.
   */
  heartbeatMs?: number | undefined;
  /**
   * How long a job may wait for a worker before pg-boss deletes it unhandled. The time starts again with
   * each retry, and is twice as long for a dead job. Milliseconds, from 259 200 000 (72 hours) to
   * 315 360 000 000 (10 years), default 31 536 000 000 (365 days).
   */
  pendingRetentionMs?: number | undefined;
  /**
   * How long a worker waits before it polls an empty queue again, in milliseconds. From 100 to 600 000, default
   * 1 000.
   */
  pollIntervalMs?: number | undefined;
}

/** Every delivery waits for the creation of the queues, so a dead connection must not block it forever. */
const OPEN_TIMEOUT_MS = 5_000;
/** The longest run that pg-boss allows. */
const EXPIRE_SECONDS = 86_400;
/** A minute before it, so that a handler that stops then can be settled. */
const MAX_RUN_MS = (EXPIRE_SECONDS - 60) * 1_000;
const RETRY_DELAY_SECONDS = 10;
const DAY_MS = 86_400_000;
/** How many of the oldest jobs are looked at for one that is due. */
const OLDEST_JOBS = 100;
const INTEGER_OPTIONS = {
  heartbeatMs: { fallback: 60_000, min: 10_000, max: 86_400_000 },
  pendingRetentionMs: { fallback: 365 * DAY_MS, min: 3 * DAY_MS, max: 3_650 * DAY_MS },
  pollIntervalMs: { fallback: 1_000, min: 100, max: 600_000 },
};
const OPTION_NAMES = [...Object.keys(INTEGER_OPTIONS), "boss", "queueName"];

/**
 * The queue driver for pg-boss, from 12.35 on, for `inbox`, for `inboxConsume`, and for operators, who list, replay
 * and discard dead jobs with it. pg-boss needs Node 22.12.
 *
 * `put` resolves when PostgreSQL has committed the job. A finished job is deleted with its body. A dead job waits in
 * the dead letter queue for twice `pendingRetentionMs` (default 2 years). A run takes at most 23 hours and 59 minutes.
 * A job whose worker has crashed 15 times is dead. Use no other worker on either queue.
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
 * @throws ConfigurationError if an option is invalid, and (`unsupported_version`) for a PgBoss of an earlier version.
 */
export function pgBossQueue(options: PgBossQueueOptions): QueueDriver<unknown> & DeadDeliveries {
  const own = ownOptions("pgBossQueue", options, OPTION_NAMES);
  const { boss } = own;
  checkBoss(boss);
  const name = queueNameOption(own.queueName);
  const { heartbeatMs, pendingRetentionMs, pollIntervalMs } = integerOptions(own, INTEGER_OPTIONS);
  const errorListener = new ErrorListenerCheck("the PgBoss", boss, new Log(consoleLines));
  const queues = queuesOf(boss, name, heartbeatMs, pendingRetentionMs);
  return {
    name,
    extends: "message",
    maxRunMs: MAX_RUN_MS,
    async put(job) {
      errorListener.check?.();
      await queues.open();
      // The key names the delivery in its dead letter. It makes no job the only one: the worker's store does.
      const sending = boss.send(name, job, { singletonKey: job.id });
      const id = await Promise.resolve(sending).catch((error: unknown) => {
        queues.reset();
        throw error;
      });
      if (typeof id === "string") return;
      // A 200 would lose the delivery.
      throw new QueueError(
        `pg-boss took no job into the queue ${name}: it must have the policy "standard"`,
      );
    },
    waiting: () => stateOf(queues),
    receive: (run, receiving) => receiveJobs(queues, pollIntervalMs, run, receiving),
    ...deadDeliveriesOf("pg-boss", deadLettersOf(queues)),
  };
}

function queuesOf(
  boss: PgBossClient,
  name: string,
  heartbeatMs: number,
  pendingRetentionMs: number,
): PgBossQueues {
  const deadName = `${name}-dead`;
  const retentionSeconds = Math.ceil(pendingRetentionMs / 1_000);
  const create = async (): Promise<void> => {
    // An existing queue keeps its settings, and its jobs inherit them. So do those that are replayed.
    await boss.createQueue(deadName);
    await boss.updateQueue(deadName, { retentionSeconds: 2 * retentionSeconds });
    await boss.createQueue(name);
    await boss.updateQueue(name, {
      retryLimit: retryLimitOf(1, 0),
      retryDelay: RETRY_DELAY_SECONDS,
      expireInSeconds: EXPIRE_SECONDS,
      heartbeatSeconds: Math.ceil(heartbeatMs / 1_000),
      retentionSeconds,
    });
  };
  let opening: Promise<void> | undefined;
  return {
    boss,
    name,
    deadName,
    retentionSeconds,
    open() {
      const creating = "the creation of pg-boss's queues";
      opening ??= within(OPEN_TIMEOUT_MS, creating, create()).catch((error: unknown) => {
        opening = undefined;
        throw error;
      });
      return opening;
    },
    reset() {
      opening = undefined;
    },
  };
}

/** The counts are those of pg-boss, which may be a minute old. */
async function stateOf(queues: PgBossQueues): Promise<QueueState> {
  await queues.open();
  const { boss, name, deadName } = queues;
  const query = { force: true, limit: 1 } as const;
  const [live] = await boss.getQueueStats(name, query);
  const [dead] = await boss.getQueueStats(deadName, query);
  const oldest = await boss.findJobs(name, { queued: true, limit: OLDEST_JOBS });
  const waitedMs = Math.max(0, ...oldest.map((job) => Date.now() - job.startAfter.getTime()));
  // All that were looked at wait for their next run: whether another one is due is not known.
  const isUnknown = waitedMs === 0 && oldest.length === OLDEST_JOBS;
  return {
    count: live?.readyCount,
    oldestMs: isUnknown ? undefined : waitedMs,
    dead: dead?.queuedCount,
  };
}
