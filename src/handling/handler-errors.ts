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

/**
 * A bundler may put two copies of the package into one process. An error of one is known to the other
 * by a mark that both find under the same name.
 */
const RETRY_LATER = Symbol.for("identity-gateway-webhooks.RetryLater");
const DISCARD_DELIVERY = Symbol.for("identity-gateway-webhooks.DiscardDelivery");

/** `instanceof` by the mark for the class that has it, and as ever for a partner's subclass of it. */
function isInstance(mark: symbol, base: unknown, asked: unknown, value: unknown): boolean {
  if (asked !== base) return Function.prototype[Symbol.hasInstance].call(asked, value);
  return typeof value === "object" && value !== null && mark in value;
}

/**
 * Throw it in a handler to say "again later": the id is released and the gateway is answered 503.
 * `instanceof` also holds for one of a second copy of the package.
 */
export class RetryLater extends Error {
  static override [Symbol.hasInstance](value: unknown): boolean {
    return isInstance(RETRY_LATER, RetryLater, this, value);
  }

  static {
    // On the prototype, so that no printed error shows it.
    Object.defineProperty(this.prototype, RETRY_LATER, { value: true });
  }

  override readonly name = "RetryLater";
  /** Stable, so that code can branch on it. */
  readonly code = "retry_later";
  /** Milliseconds until the next attempt, as given. */
  readonly afterMs: number | undefined;

  constructor({ afterMs, message = "retry later", cause }: RetryLaterOptions = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.afterMs = afterMs;
  }
}

/** The error of the report where a handler threw undefined, or its promise rejected with it. */
export class ThrewUndefinedError extends Error {
  override readonly name = "ThrewUndefinedError";
  /** Stable, so that code can branch on it. */
  readonly code = "threw_undefined";

  constructor() {
    super("the handler threw undefined");
  }
}

/**
 * Throw it in a handler to say "never again": the id counts as handled and the gateway is answered
 * 200. `instanceof` also holds for one of a second copy of the package. `reason` reaches `onOutcome` and the logger as the error's message, so keep personal data out.
 */
export class DiscardDelivery extends Error {
  static override [Symbol.hasInstance](value: unknown): boolean {
    return isInstance(DISCARD_DELIVERY, DiscardDelivery, this, value);
  }

  static {
    // On the prototype, so that no printed error shows it.
    Object.defineProperty(this.prototype, DISCARD_DELIVERY, { value: true });
  }

  override readonly name = "DiscardDelivery";
  /** Stable, so that code can branch on it. */
  readonly code = "discard_delivery";

  constructor(reason = "discarded") {
    super(reason);
  }
}
