/**
 * The results of a claim that carry no figure. Every store returns these constants, so that a new delivery
 * allocates none.
 */
export const CLAIMED = Object.freeze({ state: "claimed", takeover: false } as const);
/** A claim after an earlier lease ended without completion or release. */
export const TAKEN_OVER = Object.freeze({ state: "claimed", takeover: true } as const);
/** Also the result of `TransactionalStore.process` for a key that is remembered. */
export const COMPLETED = Object.freeze({ state: "completed" } as const);

/**
 * The result of a claim on a key whose lease another owner holds. `retryAfterMs`: what is left of the
 * lease, in milliseconds.
 */
export function inFlight(retryAfterMs: number) {
  return { state: "in_flight", retryAfterMs } as const;
}

/**
 * A store, or the client behind it, returned something that its contract does not allow. The receiver
 * answers 503, so the gateway sends the delivery again.
 */
export class UnexpectedResultError extends TypeError {
  override readonly name = "UnexpectedResultError";
  /** Stable, so that code can branch on it. */
  readonly code = "unexpected_result";
}
