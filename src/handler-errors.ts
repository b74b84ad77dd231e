/** Settings of `RetryLater`. */
export interface RetryLaterOptions {
  /**
   * Milliseconds until the gateway should try again, sent as `Retry-After` in whole seconds, from 1
   * to 86 400. Default 60 000, also where the value is not a finite number. The gateway's own
   * schedule has the last word (GATEWAY.md, "Events", rule 3).
   */
  afterMs?: number | undefined;
  /** Why, for your own logs. */
  message?: string | undefined;
  /** The error that led to this one. */
  cause?: unknown;
}

/** Throw it in a handler to say "again later": the id is released and the gateway is answered 503. */
export class RetryLater extends Error {
  override readonly name = "RetryLater";
  /** Milliseconds until the next attempt, as given. */
  readonly afterMs: number | undefined;

  constructor({ afterMs, message = "retry later", cause }: RetryLaterOptions = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.afterMs = afterMs;
  }
}

/**
 * Throw it in a handler to say "never again": the id counts as handled and the gateway is answered
 * 200. `reason` reaches `onOutcome` and the logger as the error's message, so keep personal data out.
 */
export class DiscardDelivery extends Error {
  override readonly name = "DiscardDelivery";

  constructor(reason = "discarded") {
    super(reason);
  }
}
