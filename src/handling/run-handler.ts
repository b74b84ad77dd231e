import type { Draft, DurationRecorder, HandledDelivery } from "../answer/observers.js";
import { GatewayWebhookError } from "../common/errors.js";
import { isPromise, type ValueOrPromise } from "../common/promises.js";
import { eventTypeOf } from "../records/online-data-event.js";
import type { DeliveryContext } from "./delivery-context.js";
import { DiscardDelivery, RetryLater } from "./handler-errors.js";
import type { HandlerCall } from "./handlers.js";
import type { Delivery } from "./handling.js";

/** How a handler ended. */
export type HandlerResult =
  | {
      readonly outcome: "handled";
      /** A returned value whose author may have expected an effect. */
      readonly ignored?:
        "false" | "an error" | "rejections of Promise.allSettled" | "an object with a status";
    }
  | { readonly outcome: "discarded" | "handler_failed"; readonly error: unknown }
  | {
      readonly outcome: "retry_later";
      readonly error: RetryLater;
      readonly retryAfterMs: number | undefined;
    };

/** The result of a handler that returned nothing of note. */
export const HANDLED: HandlerResult = { outcome: "handled" };
const RETURNED_FALSE: HandlerResult = { outcome: "handled", ignored: "false" };
const RETURNED_ERROR: HandlerResult = { outcome: "handled", ignored: "an error" };
const RETURNED_REJECTIONS: HandlerResult = {
  outcome: "handled",
  ignored: "rejections of Promise.allSettled",
};
const RETURNED_STATUS: HandlerResult = { outcome: "handled", ignored: "an object with a status" };

/** Runs the handler of a delivery, observed if anyone observes it. Neither throws nor rejects. */
export function runDelivery(
  { call, trace }: Delivery,
  given: DeliveryContext,
): ValueOrPromise<HandlerResult> {
  const context = trace.recovered ? Object.assign(given, { recovered: true } as const) : given;
  const { observation, durations } = trace;
  if (observation === undefined) {
    return durations === undefined ? runHandler(call, context) : timed(durations, call, context);
  }
  const { id, type, takeover } = context;
  const eventType = type === "delete_my_data_event" ? eventTypeOf(trace.record) : undefined;
  const work: Draft<HandledDelivery> = {
    kind: "delivery",
    id,
    type,
    takeover,
    timestampMs: context.timestamp.getTime(),
    bytes: trace.bytes,
  };
  if (eventType !== undefined) work.eventType = eventType;
  if (trace.recovered) work.recovered = true;
  return observation.run(work, () => timed(durations, call, context));
}

/** Runs the handler, and measures it if anyone wants its duration. */
function timed(
  durations: DurationRecorder | undefined,
  call: HandlerCall,
  context: DeliveryContext,
): ValueOrPromise<HandlerResult> {
  if (durations === undefined) return runHandler(call, context);
  const startedAt = performance.now();
  const record = () => durations.record("handler", (performance.now() - startedAt) / 1000);
  const result = runHandler(call, context);
  if ("then" in result) void result.then(record);
  else record();
  return result;
}

/** Calls a handler. Neither throws nor rejects, even if the handler does. */
export function runHandler(
  { handler, record }: HandlerCall,
  context: DeliveryContext,
): ValueOrPromise<HandlerResult> {
  try {
    const returned = handler(record, context);
    if (!isPromise(returned)) return resultOfReturned(returned);
    // A native promise. The `then` of a query builder, or one that was set on a promise, may return anything.
    const promise = Object.hasOwn(returned, "then")
      ? new Promise<unknown>((resolve) => resolve(returned))
      : Promise.resolve(returned);
    return promise.then(resultOfReturned, resultOfThrown);
  } catch (error) {
    return resultOfThrown(error);
  }
}

/** Never throws, although a getter of the returned object may. */
function resultOfReturned(returned: unknown): HandlerResult {
  if (returned === undefined) return HANDLED;
  if (returned === false) return RETURNED_FALSE;
  if (typeof returned !== "object" || returned === null) return HANDLED;
  try {
    if (isError(returned)) return RETURNED_ERROR;
    if (Array.isArray(returned)) {
      if (returned.some(isError)) return RETURNED_ERROR;
      return returned.some(isRejection) ? RETURNED_REJECTIONS : HANDLED;
    }
    const { status, statusCode } = returned as { status?: unknown; statusCode?: unknown };
    const hasStatus = typeof status === "number" || typeof statusCode === "number";
    return hasStatus ? RETURNED_STATUS : HANDLED;
  } catch {
    return HANDLED;
  }
}

/** Also of another realm: test runners have such. */
function isError(value: unknown): boolean {
  return value instanceof Error || Object.prototype.toString.call(value) === "[object Error]";
}

function isRejection(value: unknown): boolean {
  return (Object(value) as { readonly status?: unknown }).status === "rejected";
}

function resultOfThrown(thrown: unknown): HandlerResult {
  try {
    if (thrown instanceof RetryLater) {
      return { outcome: "retry_later", error: thrown, retryAfterMs: thrown.afterMs };
    }
    if (thrown instanceof DiscardDelivery) return { outcome: "discarded", error: thrown };
  } catch (error) {
    // `thrown` is a revoked proxy: it can be neither tested nor logged.
    return { outcome: "handler_failed", error };
  }
  if (thrown !== undefined) return { outcome: "handler_failed", error: thrown };
  const error = new GatewayWebhookError("threw_undefined", "the handler threw undefined");
  return { outcome: "handler_failed", error };
}
