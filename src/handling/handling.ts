import type { Ending, Trace } from "../answer/trace.js";
import type { ValueOrPromise } from "../common/promises.js";
import type { DeliveryHeaders } from "../delivery/headers.js";
import type { DeliveryStore } from "../stores/delivery-store.js";
import type { TransactionalStore } from "../stores/transactional-store.js";
import type { HandlerCall } from "./handlers.js";

/** An authentic request, and the handler that takes it. */
export interface Delivery {
  readonly headers: DeliveryHeaders;
  readonly rawBody: Uint8Array;
  readonly call: HandlerCall;
  readonly trace: Trace;
}

/** Handles each delivery once: `LeasedHandling` or `TransactionalHandling`, depending on the store. */
export interface Handling {
  /**
   * Runs the handler, unless the store knows that the delivery was handled or is in flight. Never rejects.
   */
  handle(delivery: Delivery): ValueOrPromise<Ending>;
  /** Whether this delivery is being handled here: a copy of it needs no place. */
  isRunning(id: string): boolean;
  /**
   * For `drain`: sends the store what it has not taken yet, for at most `timeoutMs`. Never rejects.
   */
  flush(timeoutMs: number): Promise<void>;
  /** The number of handled deliveries whose completion the store has not taken yet. */
  completionsPending(): number;
  /** Whether this delivery was handled here, and the store has not taken its completion yet. */
  isCompletionPending(id: string): boolean;
}

/** The options that bound handling, in milliseconds. */
export interface HandlingTimes {
  readonly leaseMs: number;
  readonly retentionMs: number;
  readonly handlerTimeoutMs: number;
  readonly handlerMaxMs: number;
  readonly dependencyTimeoutMs: number;
}

/** How deliveries are handled: the times, and what counts as handled before. */
export interface HandlingOptions extends HandlingTimes {
  /** Undefined if the delivery id alone decides what was handled. */
  readonly recordKeys?: { keyOf(delivery: Delivery): Promise<string | undefined> } | undefined;
}

/** Whether a store runs handlers in its own transactions. */
export function isTransactional(
  store: DeliveryStore | TransactionalStore<unknown>,
): store is TransactionalStore<unknown> {
  return typeof (store as Partial<TransactionalStore<unknown>>).process === "function";
}
