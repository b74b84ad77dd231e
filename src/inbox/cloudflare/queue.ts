import { requireMethods, ownOptions } from "../../common/option-checks.js";
import { countOf, timeOf } from "../envelope.js";
import type {
  QueueConsumer,
  QueueMessage,
  QueueProducer,
  QueueSettlement,
} from "../queue-driver.js";
import { queueNameOption } from "../queue-options.js";

/** The part of a binding of Queues that the driver uses. `Queue` of `wrangler types` has it. */
export interface QueueBinding {
  send(
    body: unknown,
    options?: { contentType?: "json"; delaySeconds?: number },
  ): PromiseLike<unknown>;
}

/** A message of a batch. */
export interface CloudflareMessage {
  readonly id: string;
  readonly timestamp: Date;
  readonly body: unknown;
  /** How often it was delivered, from 1. */
  readonly attempts: number;
  ack(): void;
  retry(options?: { delaySeconds?: number }): void;
}

/** The half of the options of `cloudflareQueue` with which `inbox` writes jobs. */
interface CloudflareProducerOptions {
  /** The binding of the queue, such as `env.QUEUE`. */
  queue: QueueBinding;
  /** The queue's name, for telemetry. Default `"gateway-deliveries"`. */
  queueName?: string | undefined;
}

/** All options of `cloudflareQueue`. */
interface CloudflareQueueOptions extends CloudflareProducerOptions {
  /** The binding of the queue that gets the dead jobs. Required to run jobs. */
  deadQueue: QueueBinding;
}

/** A driver of Cloudflare Queues that also runs jobs. */
export interface CloudflareQueue extends QueueProducer<unknown>, QueueConsumer {
  readonly name: string;
  /** Makes the message that a worker runs, for `cloudflareQueueHandler`. */
  readonly messageOf: (message: CloudflareMessage) => QueueMessage;
}

/** 128 kB of 1 000 bytes, less what Cloudflare adds to a message (about 100 bytes) and what a resent job has. */
const MAX_JOB_BYTES = 127_000;
/** The longest run of a consumer. */
export const MAX_RUN_MS = 900_000;
/** The longest delay that every release of Queues takes. */
const MAX_DELAY_SECONDS = 43_200;
/** Longer reasons are cut. */
const MAX_REASON_LENGTH = 500;

/**
 * The queue driver for Cloudflare Queues. With `deadQueue` it is a driver for `inbox` and for
 * `cloudflareQueueHandler`. Without, it only writes jobs.
 *
 * `put` resolves when the queue has stored the job. A job that must run again is sent anew with its delay, at most
 * 12 hours: with the engine's own `retry` a queue with the default `max_retries` of 3 and no dead-letter queue would
 * delete the job. A dead job is sent to `deadQueue` as `{ job, error, attempts, failedAt }`; sent to `queue` as it is,
 * it runs again, with all attempts. A queue forgets a message after its retention period, 4 days by default.
 *
 * @example
 * ```ts
 * const driver = cloudflareQueue({ queue: env.QUEUE, deadQueue: env.DEAD_QUEUE });
 * export default {
 *   fetch: fetchHandler(createWebhookReceiver({ secret, store, maxBodyBytes: 90_000, handlers: inbox({ driver }) })),
 *   queue: cloudflareQueueHandler({ driver, store, handlers }),
 * };
 * ```
 *
 * @throws ConfigurationError if an option is invalid.
 */
export function cloudflareQueue(options: CloudflareQueueOptions): CloudflareQueue;
/** Without `deadQueue`: a driver that only writes jobs. */
export function cloudflareQueue(options: CloudflareProducerOptions): QueueProducer<unknown>;
export function cloudflareQueue(
  options: CloudflareProducerOptions & Partial<CloudflareQueueOptions>,
): QueueProducer<unknown> {
  const own = ownOptions("cloudflareQueue", options, ["queue", "deadQueue", "queueName"]);
  const { queue, deadQueue } = own;
  checkBinding("queue", queue);
  const name = queueNameOption(own.queueName);
  const producer: QueueProducer<unknown> = {
    name,
    maxJobBytes: MAX_JOB_BYTES,
    put: async (job) => queue.send(job, { contentType: "json" }),
  };
  if (deadQueue === undefined) return producer;
  checkBinding("deadQueue", deadQueue);
  const driver: CloudflareQueue = {
    ...producer,
    name,
    extends: "never",
    maxRunMs: MAX_RUN_MS,
    messageOf: (message) => messageOf(queue, deadQueue, message),
  };
  return driver;
}

function checkBinding(option: string, binding: unknown): void {
  requireMethods(
    binding,
    ["send"],
    () =>
      `${option} must be the binding of a queue such as env.QUEUE, with send: is it named in ` +
      "queues.producers of the Wrangler file?",
  );
}

/** The body of a job that is sent anew or is dead. A new job is the body itself. */
interface Resent<Value = number> {
  readonly job: unknown;
  readonly failedRuns?: Value;
  readonly putAt?: Value;
}

function resentOf(body: unknown): Resent<unknown> {
  const isResent = typeof body === "object" && body !== null && "job" in body;
  return isResent ? body : { job: body };
}

function messageOf(
  queue: QueueBinding,
  deadQueue: QueueBinding,
  message: CloudflareMessage,
): QueueMessage {
  const { id, body, attempts, timestamp } = message;
  const { job, ...given } = resentOf(body);
  const putAt = timeOf(given.putAt) ?? timestamp.getTime();
  const attempt = countOf(given.failedRuns) + attempts;

  const send = async (settlement: QueueSettlement): Promise<void> => {
    switch (settlement.result) {
      case "done":
        return;
      case "retry": {
        const delaySeconds = Math.min(Math.ceil(settlement.afterMs / 1000), MAX_DELAY_SECONDS);
        const failed = settlement.error === undefined ? attempt - 1 : attempt;
        const again: Resent = { job, failedRuns: failed, putAt };
        await queue.send(again, { contentType: "json", delaySeconds });
        return;
      }
      case "dead": {
        const error = settlement.error.message.slice(0, MAX_REASON_LENGTH);
        const dead = { job, error, attempts: attempt, failedAt: Date.now() };
        await deadQueue.send(dead, { contentType: "json" });
      }
    }
  };
  return {
    id,
    data: job,
    attempt,
    enqueuedAt: new Date(putAt),
    async settle(settlement) {
      // Sent before it is acknowledged: a crash in between makes two of it, and none is lost.
      await send(settlement);
      message.ack();
      return true;
    },
  };
}
