import { ConfigurationError } from "../common/configuration-error.js";
import { within } from "../common/deadline.js";
import type { DeliveryContext } from "../handling/delivery-context.js";
import { DiscardDelivery, RetryLater } from "../handling/handler-errors.js";
import type { Handler, UnrecognizedDelivery } from "../handling/handlers.js";
import { integerOption } from "../common/integer-option.js";
import { ownOptions } from "../common/own-options.js";
import { isPromise } from "../common/maybe-promise.js";
import type { Alarm } from "../records/alarm.js";
import type { OnlineDataEvent } from "../records/online-data-event.js";
import { inboxJobOf, type InboxJob } from "./inbox-job.js";
import { QueueError, queueErrorOf } from "./queue-error.js";

/**
 * Writes a job into a durable queue, under an id made of `job.id`, so that a second write of the same
 * delivery makes no second job. Its promise resolves once the write would survive a crash of this
 * process, for only then is the gateway answered 200; it rejects where that is not known. Of what it
 * rejects with, the log and `onOutcome` are given the name, the code and the first words alone, since
 * drivers quote what they were given; `RetryLater` and `DiscardDelivery` are heeded as in any handler.
 */
export type Enqueue<Context = DeliveryContext> = (
  job: InboxJob,
  context: Context,
) => PromiseLike<unknown>;

/** Options of `inbox`. */
export interface InboxOptions<Context = DeliveryContext> {
  /**
   * Writes one job: `pgBossEnqueue`, `bullmqEnqueue`, or a function of your own for another engine, or
   * for a write through `context.tx`, which the dedupe row is committed with.
   */
  enqueue: Enqueue<Context>;
  /**
   * When a write that has not ended counts as failed: the gateway sends the delivery again, and a write
   * that comes late is the same job. Milliseconds, from 1 to 600 000, default 10 000.
   */
  enqueueTimeoutMs?: number | undefined;
}

/** The handlers that hand every delivery over; one of them can be taken out for one type alone. */
export interface InboxHandlers<Context = DeliveryContext> {
  readonly new_alarm: Handler<Alarm, Context>;
  readonly delete_my_data_event: Handler<OnlineDataEvent, Context>;
  readonly unrecognized: Handler<UnrecognizedDelivery, Context>;
}

const ENQUEUE_TIMEOUT = { fallback: 10_000, min: 1, max: 600_000 };

/**
 * Makes handlers that put the authentic delivery into a queue and are done after its write, for work
 * that takes longer than the gateway should wait: `handlers: inbox({ enqueue })` takes alarms, events
 * and what is not recognized. A write that fails is a handler that failed: the gateway is answered 500
 * and sends the delivery again.
 *
 * @throws ConfigurationError where an option cannot work.
 */
export function inbox<Context extends DeliveryContext = DeliveryContext>(
  options: InboxOptions<Context>,
): InboxHandlers<Context> {
  const own = ownOptions("inbox", options, ["enqueue", "enqueueTimeoutMs"]);
  const { enqueue } = own;
  if (typeof enqueue !== "function") {
    throw new ConfigurationError("invalid_option", "enqueue has to be a function");
  }
  const timeoutMs = integerOption("enqueueTimeoutMs", own.enqueueTimeoutMs, ENQUEUE_TIMEOUT);

  const handOver = async (_record: unknown, context: Context): Promise<void> => {
    try {
      const written: unknown = enqueue(inboxJobOf(context), context);
      // Without a promise nobody knows whether the write has happened: a forgotten `return` would
      // acknowledge deliveries that are nowhere.
      if (!isPromise(written)) {
        throw new QueueError("enqueue has to return the promise of its write");
      }
      await within(timeoutMs, "enqueue", written);
    } catch (error) {
      if (error instanceof RetryLater || error instanceof DiscardDelivery) throw error;
      throw queueErrorOf("the delivery could not be put into the queue", error);
    }
  };
  return { new_alarm: handOver, delete_my_data_event: handOver, unrecognized: handOver };
}
