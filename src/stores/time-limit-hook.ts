/**
 * The method by which a receiver tells a store how long one call may take: `dependencyTimeoutMs`, in
 * milliseconds. A store that bounds its own calls then does not give up before the receiver does. Ours
 * alone have it; it is no part of the contract of a store.
 */
export const TIME_LIMIT_HOOK = Symbol.for("identity-gateway-webhooks.time-limit");

/** A store that takes the time limit of its receiver. */
export interface TakesTimeLimit {
  [TIME_LIMIT_HOOK](dependencyTimeoutMs: number): void;
}

/** Tells `store` the time limit, if it takes one. */
export function tellTimeLimit(store: object, dependencyTimeoutMs: number): void {
  (store as Partial<TakesTimeLimit>)[TIME_LIMIT_HOOK]?.(dependencyTimeoutMs);
}
