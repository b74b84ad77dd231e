import type { QueueState } from "../../telemetry/telemetry.js";
import { invalidOption } from "../../common/errors.js";
import { ownOptions } from "../../common/option-checks.js";
import type { DeadDeliveries } from "../dead-deliveries.js";
import type { InboxJob } from "../inbox-job.js";
import {
  bullmqJobId,
  checkQueue,
  checkWorkerClass,
  namedError,
  type BullmqQueue,
  type BullmqWorkerClass,
} from "./client.js";
import type { QueueConsumer, QueueDriver, QueueProducer } from "../queue-driver.js";
import { QueueError } from "../queue-error.js";
import { queueNameOption, MAX_CRASHES } from "../queue-options.js";
import { deadJobsOf } from "./dead-jobs.js";
import { receiveJobs } from "./receive.js";

export type { DeadDeliveries, DeadDelivery, Discarded, Replayed } from "../dead-deliveries.js";

/** The half of the options of `bullmqQueue` with which `inbox` writes jobs, and operators see the dead ones. */
export interface BullmqProducerOptions {
  /** A `Queue` of BullMQ, on a Redis with `maxmemory-policy noeviction`. */
  queue: BullmqQueue;
}

/** The half of the options of `bullmqQueue` with which `inboxConsume` takes jobs. */
export interface BullmqConsumerOptions<Options extends object> {
  /** The class `Worker` of `bullmq`. */
  Worker: BullmqWorkerClass<NoInfer<Options>>;
  /**
   * BullMQ's own worker options, typed by `Worker`: `connection` (required), `lockDuration`, `drainDelay` and so on.
   * `concurrency` is an option of `inboxConsume` instead. `maxStalledCount` says how many crashes of its worker a
   * job survives; its default is 14 here. With BullMQ's default of 1, two deploys during one job would bury it.
   */
  workerOptions: Options;
  /** The name of the queue. Default: that of `queue`, without one `"gateway-deliveries"`. */
  queueName?: string | undefined;
}

const OPTION_NAMES = ["queue", "Worker", "workerOptions", "queueName"];
/** BullMQ's default of `lockDuration`. */
const LOCK_DURATION_MS = 30_000;

/**
 * The queue driver for BullMQ 5 (from 5.66) and 6. With `queue` it is a driver for `inbox`, with `Worker` and
 * `workerOptions` one for `inboxConsume`, and with all three for both.
 *
 * `put` resolves when Redis has the job. Whether a crash of Redis loses it depends on its `appendfsync`:
 * `everysec` loses up to a second of acknowledged deliveries, `always` loses none. A finished job is removed with
 * its body. A dead job stays among the failed jobs of the queue until it is replayed or discarded. The job of a
 * crashed worker runs again when its lock has expired. Use no other worker on the queue.
 *
 * @example
 * ```ts
 * const queue = new Queue("gateway-deliveries", { connection });
 * const driver = bullmqQueue({ queue, Worker, workerOptions: { connection } });
 * const receiver = createWebhookReceiver({
 *   secret: process.env.GATEWAY_WEBHOOK_SECRET,
 *   handlers: inbox({ driver }),
 * });
 * const worker = inboxConsume({
 *   driver,
 *   store: redisStore({ client }),
 *   handlers: { new_alarm: (alarm, { id }) => openTicket(id, alarm) },
 * });
 * ```
 *
 * @throws ConfigurationError if an option is invalid, and for a bullmq that cannot work.
 */
export function bullmqQueue<Options extends object>(
  options: BullmqProducerOptions & BullmqConsumerOptions<Options>,
): QueueDriver<unknown> & DeadDeliveries;
/** Without `Worker`: a driver that writes jobs, and lists, replays and discards dead ones. */
export function bullmqQueue(
  options: BullmqProducerOptions,
): QueueProducer<unknown> & DeadDeliveries;
/** Without `queue`: a driver that only takes jobs. */
export function bullmqQueue<Options extends object>(
  options: BullmqConsumerOptions<Options>,
): QueueConsumer;
export function bullmqQueue(
  options: Partial<BullmqProducerOptions & BullmqConsumerOptions<object>>,
): object {
  const own = ownOptions("bullmqQueue", options, OPTION_NAMES);
  const { queue, Worker, workerOptions } = own;
  if (queue === undefined && Worker === undefined) {
    throw invalidOption("give queue, a Queue object of BullMQ, or Worker, or both");
  }
  if (queue !== undefined) checkQueue(queue);
  const name = queueNameOption(own.queueName ?? queue?.name);
  if (queue !== undefined && name !== queue.name) {
    throw invalidOption("queueName must be the name of queue: leave it out");
  }
  const dead = queue && deadJobsOf(queue);
  const producer = queue && dead && { ...producerOf(queue, dead), ...dead };
  if (Worker === undefined && workerOptions === undefined) return { name, ...producer };
  return { name, ...producer, ...consumerOf(name, Worker, workerOptions, queue?.opts?.prefix) };
}

function producerOf(
  queue: BullmqQueue,
  dead: DeadDeliveries,
): Pick<QueueDriver<unknown>, "put" | "waiting"> {
  return {
    async put(job: InboxJob) {
      const jobId = bullmqJobId(job.id);
      // Overrides the `defaultJobOptions` of the queue: their deduplication would drop a delivery in favour of
      // another one.
      const options = { jobId, deduplication: undefined };
      for (;;) {
        // BullMQ makes no second job of an id. One that waits or runs will be handled, and one that is completed was,
        // but a 200 for a dead one would lose the delivery. The question costs no round trip of its own. Not by
        // `getJobState`: for a new id it searches all jobs that wait.
        const [known, added] = await Promise.all([
          queue.getJob(jobId),
          queue.add(job.type, job, options),
        ]).catch((error: unknown) => {
          throw namedError(error);
        });
        // If BullMQ makes no job, it may return another one. A 200 would then lose the delivery.
        if ((Object(added) as { readonly id?: unknown }).id !== jobId) {
          throw new QueueError(
            "BullMQ made no job for the delivery: check the defaultJobOptions of the queue",
          );
        }
        if (known === undefined || !(await known.isFailed())) return;
        // If another call was faster, the job waits again or is gone.
        if ((await dead.replay([job.id])).replayed.length > 0) return;
      }
    },
    async waiting(): Promise<QueueState> {
      const { failed: dead = 0, ...waiting } = await queue.getJobCounts("waiting", "failed");
      const count = Object.values(waiting).reduce((sum, jobs) => sum + jobs, 0);
      // More than one: a job that a worker has finished meanwhile is undefined.
      const jobs = await queue.getJobs(["waiting"], 0, 9, true);
      // A job that waits for another run has the time of its last one.
      const since = jobs.map((job) => Math.max(job?.timestamp ?? Infinity, job?.processedOn ?? 0));
      return { count, oldestMs: Math.max(0, Date.now() - Math.min(Infinity, ...since)), dead };
    },
  };
}

function consumerOf(
  name: string,
  Worker: BullmqWorkerClass<object> | undefined,
  workerOptions: object | undefined,
  prefix: string | undefined,
): QueueConsumer {
  checkWorkerClass(Worker);
  if (typeof workerOptions !== "object" || (workerOptions as unknown) === null) {
    throw invalidOption("workerOptions must be an object with the connection of the worker");
  }
  if ("concurrency" in workerOptions) {
    throw invalidOption("concurrency is no worker option here: give it to inboxConsume");
  }
  const ours = { maxStalledCount: MAX_CRASHES, ...(prefix === undefined ? {} : { prefix }) };
  const { lockDuration = LOCK_DURATION_MS } = workerOptions as { lockDuration?: number };
  return {
    extends: "connection",
    receive: (run, receiveOptions) => {
      const worker = new Worker(name, undefined, { ...ours, ...workerOptions });
      return receiveJobs(worker, lockDuration, run, receiveOptions);
    },
  };
}
