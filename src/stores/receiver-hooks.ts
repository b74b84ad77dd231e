// What a receiver passes to the stores of this package. Neither hook is a part of the store contract, so
// the stores of users need neither.

/** Writes one warning to the log of a receiver. */
export type Warn = (message: string) => void;

const warnTakers = new WeakMap<object, ((warn: Warn) => void)[]>();

/** Calls `take` with the log of each receiver that uses `store`. */
export function onReceiver(store: object, take: (warn: Warn) => void): void {
  warnTakers.set(store, [...(warnTakers.get(store) ?? []), take]);
}

/** Passes the log of a receiver to its store. Does nothing for a store that has not called `onReceiver`. */
export function giveWarn(store: object, warn: Warn): void {
  for (const take of warnTakers.get(store) ?? []) take(warn);
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

/** Passes the time limit of a receiver to its store, if the store has the hook. */
export function tellTimeLimit(store: object, dependencyTimeoutMs: number): void {
  (store as Partial<TakesTimeLimit>)[TIME_LIMIT_HOOK]?.(dependencyTimeoutMs);
}
