import { within } from "../common/timers.js";
import type { DeliveryContext } from "../handling/delivery-context.js";
import { DiscardDelivery, RetryLater } from "../handling/handler-errors.js";
import type { WebhookHandler, UnrecognizedDelivery } from "../handling/handlers.js";
import { integerOption, requireMethods, ownOptions } from "../common/option-checks.js";
import { isPromise } from "../common/promises.js";
import { Log } from "../answer/logger.js";
import { Observer } from "../telemetry/observation.js";
import type { InternalTelemetry, WebhookTelemetry, TraceCarrier } from "../telemetry/telemetry.js";
import type { Alarm } from "../records/alarm.js";
import type { OnlineDataEvent } from "../records/online-data-event.js";
import { inboxJobOf } from "./inbox-job.js";
import { checkOverflow, fitted, maxBodyBytesOf, type InboxOverflow } from "./overflow.js";
import type { QueueProducer } from "./queue-driver.js";
import { QueueError, queueErrorOf } from "./queue-error.js";

/** What an inbox has of a log: its receiver writes the lines. */
const NO_LOG = new Log(false);

/** Options of `inbox`. */
export interface InboxOptions<Context = DeliveryContext> {
  /**
   * Writes the jobs: a driver of this package, or your own `{ put }`, for another engine or for a write through
   * `context.tx` in the transaction of the dedupe row. `RetryLater` and `DiscardDelivery` work in `put` as in any
   * handler.
   */
  driver: QueueProducer<Context>;
  /**
   * After this time a write counts as failed, and the gateway sends the delivery again. Both writes together
   * still mean one run, if the first succeeds later. Milliseconds, from 1 to 600 000, default 10 000.
   */
  putTimeoutMs?: number | undefined;
  /**
   * Takes the bodies that are too large for the driver's `maxJobBytes`. Give it to `inboxConsume` too. Without it
   * a receiver whose `maxBodyBytes` may be too large is refused. Default: none.
   */
  overflow?: InboxOverflow | undefined;
  /**
   * Sees each write of a job: `openTelemetry()` of `/opentelemetry`, or your own. Give it to the receiver and
   * the worker too. Default: none.
   */
  telemetry?: WebhookTelemetry | undefined;
}

/** A handler that queues. `maxBodyBytes`: the largest body whose job the queue takes; Infinity without a limit. */
type QueueHandler<Record, Context> = WebhookHandler<Record, Context> & {
  readonly maxBodyBytes: number;
};

/** The handlers that put deliveries into a queue. To queue only one type, use only its handler. */
export interface InboxHandlers<Context = DeliveryContext> {
  /** Queues alarms. */
  readonly new_alarm: QueueHandler<Alarm, Context>;
  /** Queues Online Data events. */
  readonly delete_my_data_event: QueueHandler<OnlineDataEvent, Context>;
  /** Queues deliveries that the library does not recognize. */
  readonly unrecognized: QueueHandler<UnrecognizedDelivery, Context>;
}

const PUT_TIMEOUT = { fallback: 10_000, min: 1, max: 600_000 };

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
 *   handlers: inbox({ driver: pgBossQueue({ boss }) }),
 * });
 * ```
 *
 * @throws ConfigurationError if an option is invalid.
 */
export function inbox<Context extends DeliveryContext = DeliveryContext>(
  options: InboxOptions<Context>,
): InboxHandlers<Context> {
  const own = ownOptions("inbox", options, ["driver", "putTimeoutMs", "overflow", "telemetry"]);
  const { driver, overflow, telemetry } = own;
  const observer = new Observer("send", telemetry, NO_LOG);
  requireMethods(driver, ["put"], () => "driver must have the method put");
  checkOverflow(overflow);
  const { name: queueName, maxJobBytes } = driver;
  (telemetry?.internal as InternalTelemetry | undefined)?.connectQueue(driver);
  const timeoutMs = integerOption("putTimeoutMs", own.putTimeoutMs, PUT_TIMEOUT);

  const write = async (context: Context, carrier: TraceCarrier): Promise<void> => {
    const put = async (): Promise<void> => {
      const job = await fitted(inboxJobOf(context, carrier), context, maxJobBytes, overflow);
      const written: unknown = driver.put(job, context);
      // Without a promise the end of the write is unknown. A forgotten `return` would acknowledge
      // deliveries that are in no queue.
      if (!isPromise(written)) throw new QueueError("put must return the promise of its write");
      await written;
    };
    try {
      await within(timeoutMs, "put", put());
    } catch (error) {
      if (error instanceof RetryLater || error instanceof DiscardDelivery) throw error;
      throw queueErrorOf("the delivery could not be put into the queue", error);
    }
  };

  const queueDelivery = async (_record: unknown, context: Context): Promise<void> => {
    const observation = observer.begin();
    if (observation === undefined) return write(context, {});
    const { id, type, recovered } = context;
    const carrier: TraceCarrier = {};
    const marks = recovered === true ? { recovered } : {};
    const work = { kind: "send", id, type, queueName, ...marks, carrier } as const;
    const ended = await observation.run(work, () => settled(write(context, carrier)));
    observation.end({ id, type, outcome: "error" in ended ? "failed" : "sent", ...ended });
    if ("error" in ended) throw ended.error;
  };
  const isBounded = maxJobBytes !== undefined && overflow === undefined;
  const maxBodyBytes = isBounded ? maxBodyBytesOf(maxJobBytes) : Infinity;
  const handler = Object.assign(queueDelivery, { maxBodyBytes });
  return { new_alarm: handler, delete_my_data_event: handler, unrecognized: handler };
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
