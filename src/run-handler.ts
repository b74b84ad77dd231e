import type { DeliveryContext } from "./delivery-context.js";
import type { Handler } from "./handlers.js";
import { DiscardDelivery, RetryLater } from "./handler-errors.js";
import { isPromise, type MaybeLater } from "./maybe-promise.js";

/** How a handler ended. */
export type HandlerResult =
  | { readonly outcome: "handled" }
  | { readonly outcome: "discarded" | "handler_failed"; readonly error: unknown }
  | {
      readonly outcome: "retry_later";
      readonly error: RetryLater;
      readonly retryAfterMs: number | undefined;
    };

/** The result of each success. */
export const HANDLED: HandlerResult = { outcome: "handled" };

/** What to call for a delivery, and with which record. Data, and no closure over both. */
export interface Run {
  /** Bound. It may throw or reject. */
  readonly handler: Handler<unknown>;
  readonly record: unknown;
}

/** Calls a handler. Neither throws nor rejects, whatever the handler does. */
export function runHandler(
  { handler, record }: Run,
  context: DeliveryContext,
): MaybeLater<HandlerResult> {
  try {
    const returned = handler(record, context);
    if (!isPromise(returned)) return HANDLED;
    return promiseOf(returned).then(() => HANDLED, failed);
  } catch (error) {
    return failed(error);
  }
}

/**
 * A promise of ours: the `then` of a query builder, or one that a promise was given of its own, may
 * return anything.
 */
function promiseOf(returned: PromiseLike<unknown>): Promise<unknown> {
  if (!Object.hasOwn(returned, "then")) return Promise.resolve(returned);
  return new Promise((resolve) => {
    resolve(returned);
  });
}

function failed(thrown: unknown): HandlerResult {
  try {
    if (thrown instanceof RetryLater) {
      return { outcome: "retry_later", error: thrown, retryAfterMs: thrown.afterMs };
    }
    if (thrown instanceof DiscardDelivery) return { outcome: "discarded", error: thrown };
  } catch (error) {
    // Of a proxy that was revoked, which nobody can ask what it is, nor write down.
    return { outcome: "handler_failed", error };
  }
  const error = thrown === undefined ? new Error("the handler threw undefined") : thrown;
  return { outcome: "handler_failed", error };
}
