import type { DeliveryContext } from "./delivery-context.js";
import type { Handler } from "./handlers.js";
import { DiscardDelivery, RetryLater, ThrewUndefinedError } from "./handler-errors.js";
import { isPromise, type MaybeLater } from "../common/promises.js";

/** How a handler ended. */
export type HandlerResult =
  | {
      readonly outcome: "handled";
      /** What was returned where its author may have expected an effect. */
      readonly ignored?: "false" | "an object with a status";
    }
  | { readonly outcome: "discarded" | "handler_failed"; readonly error: unknown }
  | {
      readonly outcome: "retry_later";
      readonly error: RetryLater;
      readonly retryAfterMs: number | undefined;
    };

/** The result of each success. */
export const HANDLED: HandlerResult = { outcome: "handled" };

const FALSE: HandlerResult = { outcome: "handled", ignored: "false" };
const STATUS: HandlerResult = { outcome: "handled", ignored: "an object with a status" };

/** The warning about a returned value, of which there is one for each receiver or worker. */
export function ignoredWarning(returned: string): string {
  return (
    `a handler returned ${returned}, which is ignored: the delivery counts as handled. To refuse it throw` +
    " RetryLater, DiscardDelivery or any other error; of a request that the handler made check the status"
  );
}

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
    if (!isPromise(returned)) return handled(returned);
    return promiseOf(returned).then(handled, failed);
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

/** Never throws, as what is returned may. */
function handled(returned: unknown): HandlerResult {
  if (returned === undefined) return HANDLED;
  if (returned === false) return FALSE;
  if (typeof returned !== "object" || returned === null) return HANDLED;
  try {
    const { status, statusCode } = returned as { status?: unknown; statusCode?: unknown };
    return typeof status === "number" || typeof statusCode === "number" ? STATUS : HANDLED;
  } catch {
    return HANDLED;
  }
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
  const error = thrown === undefined ? new ThrewUndefinedError() : thrown;
  return { outcome: "handler_failed", error };
}
