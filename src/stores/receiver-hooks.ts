import type { Log } from "../answer/logger.js";

// What a receiver passes to the stores of this package. Neither hook is a part of the store contract, so
// the stores of users need neither.

const listeners = new WeakMap<object, ((log: Log) => void)[]>();

/** Calls `listener` with the log of each receiver that is made with `store`. */
export function onReceiverConnected(store: object, listener: (log: Log) => void): void {
  listeners.set(store, [...(listeners.get(store) ?? []), listener]);
}

/**
 * The method that receives the `dependencyTimeoutMs` of a receiver, in milliseconds. A store that limits
 * its own calls needs it: otherwise it could give up before the receiver does.
 */
export const TIME_LIMIT_HOOK = Symbol.for("identity-gateway-webhooks.time-limit");

/** A store that needs the time limit of its receiver. */
export interface TakesTimeLimit {
  [TIME_LIMIT_HOOK](dependencyTimeoutMs: number): void;
}

/** Connects a new receiver to its store: passes its log and its time limit, if the store takes them. */
export function connectReceiver(store: object, log: Log, dependencyTimeoutMs: number): void {
  (store as Partial<TakesTimeLimit>)[TIME_LIMIT_HOOK]?.(dependencyTimeoutMs);
  for (const listener of listeners.get(store) ?? []) listener(log);
}
