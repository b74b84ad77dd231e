import { invalidOption } from "../common/errors.js";
import { within } from "../common/timers.js";
import type { DeliveryContext } from "../handling/delivery-context.js";
import { DiscardDelivery, RetryLater } from "../handling/handler-errors.js";
import type { WebhookHandler, UnrecognizedDelivery } from "../handling/handlers.js";
import { integerOption, ownOptions } from "../common/option-checks.js";
import { isPromise } from "../common/promises.js";
import { Log } from "../answer/logger.js";
import { Observers } from "../telemetry/observation.js";
import type { InternalTelemetry, WebhookTelemetry, TraceCarrier } from "../telemetry/telemetry.js";
import type { Alarm } from "../records/alarm.js";
import type { OnlineDataEvent } from "../records/online-data-event.js";
import { inboxJobOf, type InboxJob } from "./inbox-job.js";
import { QueueError, queueErrorOf } from "./queue-error.js";

/**
 * Writes one job into a durable queue. Derive the job's id from `job.id`, so that a second write of the
 * same delivery makes no second job.
 *
 * The promise must resolve only when the write would survive a crash of this process: then the gateway is
 * answered 200. It must reject if that is unknown. The log and `onOutcome` get only the name, the code and
 * the first words of its error, because drivers quote the data that they were given. `RetryLater` and
 * `DiscardDelivery` work as in any handler.
 */
export interface Enqueue<Context = DeliveryContext> {
  (job: InboxJob, context: Context): PromiseLike<unknown>;
  /** The name of the queue, for `telemetry`. `pgBossEnqueue` and `bullmqEnqueue` set it. */
  readonly queueName?: string | undefined;
  /**
   * How long the oldest job that is due has waited for a worker, in milliseconds; 0 if none waits. The metric
   * `gateway_webhook.jobs.oldest_age` calls it at each export. `pgBossEnqueue` and `bullmqEnqueue` set it.
   */
  readonly oldestWaitMs?: (() => PromiseLike<number>) | undefined;
}

/** What an inbox has of a log: its receiver writes the lines. */
const NO_LOG = new Log(false);

/** Options of `inbox`. */
export interface InboxOptions<Context = DeliveryContext> {
  /**
   * Writes one job: `pgBossEnqueue`, `bullmqEnqueue` or your own function, for another engine or for a
   * write through `context.tx` in the transaction of the dedupe row.
   */
  enqueue: Enqueue<Context>;
  /**
   * After this time a write counts as failed, and the gateway sends the delivery again. If the first write
   * succeeds later, both are the same job. Milliseconds, from 1 to 600 000, default 10 000.
   */
  enqueueTimeoutMs?: number | undefined;
  /**
   * Sees each write of a job: `openTelemetry()` of `/opentelemetry`, or your own. Give it to the receiver and
   * the worker too. Default: none; Node's tracing channel is `identity-gateway-webhooks:send`.
   */
  telemetry?: WebhookTelemetry | undefined;
}

/** The handlers that put deliveries into a queue. To queue only one type, use only its handler. */
export interface InboxHandlers<Context = DeliveryContext> {
  /** Queues alarms. */
  readonly new_alarm: WebhookHandler<Alarm, Context>;
  /** Queues Online Data events. */
  readonly delete_my_data_event: WebhookHandler<OnlineDataEvent, Context>;
  /** Queues deliveries that the library does not recognize. */
  readonly unrecognized: WebhookHandler<UnrecognizedDelivery, Context>;
}

const ENQUEUE_TIMEOUT = { fallback: 10_000, min: 1, max: 600_000 };

/**
 * Makes the handlers of a receiver that only puts each authentic delivery into a queue. The gateway is
 * answered 200 as soon as the job is written, and a worker handles it later. Use it when handling takes
 * longer than the gateway should wait. If the write fails, the gateway is answered 500 and sends the
 * delivery again.
 *
 * @example
 * ```ts
 * const receiver = createWebhookReceiver({
 *   secret: process.env.GATEWAY_WEBHOOK_SECRET,
 *   handlers: inbox({ enqueue: pgBossEnqueue({ boss }) }),
 * });
 * ```
 *
 * @throws ConfigurationError if an option is invalid.
 */
export function inbox<Context extends DeliveryContext = DeliveryContext>(
  options: InboxOptions<Context>,
): InboxHandlers<Context> {
  const own = ownOptions("inbox", options, ["enqueue", "enqueueTimeoutMs", "telemetry"]);
  const { enqueue, telemetry } = own;
  const observers = new Observers("send", telemetry, NO_LOG);
  if (typeof enqueue !== "function") {
    throw invalidOption("enqueue must be a function");
  }
  (telemetry?.internal as InternalTelemetry | undefined)?.connectQueue(enqueue);
  const timeoutMs = integerOption("enqueueTimeoutMs", own.enqueueTimeoutMs, ENQUEUE_TIMEOUT);

  const write = async (context: Context, carrier: TraceCarrier): Promise<void> => {
    try {
      const written: unknown = enqueue(inboxJobOf(context, carrier), context);
      // Without a promise the end of the write is unknown. A forgotten `return` would acknowledge
      // deliveries that are in no queue.
      if (!isPromise(written)) {
        throw new QueueError("enqueue must return the promise of its write");
      }
      await within(timeoutMs, "enqueue", written);
    } catch (error) {
      if (error instanceof RetryLater || error instanceof DiscardDelivery) throw error;
      throw queueErrorOf("the delivery could not be put into the queue", error);
    }
  };

  const enqueueDelivery = async (_record: unknown, context: Context): Promise<void> => {
    const observation = observers.begin();
    if (observation === undefined) return write(context, {});
    const { id, type, recovered } = context;
    const carrier: TraceCarrier = {};
    const { queueName } = enqueue;
    const marks = recovered === true ? { recovered } : {};
    const work = { kind: "send", id, type, queueName, ...marks, carrier } as const;
    const ended = await observation.run(work, () => settled(write(context, carrier)));
    observation.end({ id, type, outcome: "error" in ended ? "failed" : "sent", ...ended });
    if ("error" in ended) throw ended.error;
  };
  return {
    new_alarm: enqueueDelivery,
    delete_my_data_event: enqueueDelivery,
    unrecognized: enqueueDelivery,
  };
}

/** Resolves to an error instead of rejecting with it: what telemetry runs around never rejects. */
async function settled(work: Promise<void>): Promise<{ readonly error?: unknown }> {
  try {
    await work;
    return {};
  } catch (error) {
    return { error };
  }
}
