/** Options of `RetryLater`. */
export interface RetryLaterOptions {
  /**
   * How long the gateway should wait before its next attempt, in milliseconds. Sent as `Retry-After` in
   * whole seconds, from 1 to 86 400. Default 60 000, also for a value that is not a finite number. The
   * gateway's own schedule has the last word (GATEWAY.md, "Events", rule 3).
   */
  readonly afterMs?: number | undefined;
  /**
   * Why. It becomes the error's message, which reaches `onOutcome` and the logger, so keep personal data
   * out. Default "retry later".
   */
  readonly reason?: string | undefined;
  /** The error that led to this one. */
  readonly cause?: unknown;
}

/** Options of `DiscardDelivery`. */
export interface DiscardDeliveryOptions {
  /**
   * Why. It becomes the error's message, which reaches `onOutcome` and the logger, so keep personal data
   * out. Default "discarded".
   */
  readonly reason?: string | undefined;
  /** The error that led to this one. */
  readonly cause?: unknown;
}

/**
 * A bundler may put two copies of the package into one process. Each copy recognizes the errors of the
 * other by a brand with a shared name.
 */
const RETRY_LATER = Symbol.for("identity-gateway-webhooks.RetryLater");
const DISCARD_DELIVERY = Symbol.for("identity-gateway-webhooks.DiscardDelivery");

/** `instanceof` by brand for our class, and the ordinary `instanceof` for a subclass of it. */
function isInstance(brand: symbol, base: unknown, asked: unknown, value: unknown): boolean {
  if (asked !== base) return Function.prototype[Symbol.hasInstance].call(asked, value);
  return typeof value === "object" && value !== null && brand in value;
}

/**
 * Throw it in a handler to say "again later": the id is released, and the gateway gets 503 with
 * `Retry-After`. The constructor never throws: an invalid option counts as left out. `instanceof` also
 * recognizes the error of a second copy of the package.
 *
 * @example
 * if (response.status === 429) throw new RetryLater({ afterMs: 120_000, reason: "rate limited" });
 */
export class RetryLater extends Error {
  static override [Symbol.hasInstance](value: unknown): boolean {
    return isInstance(RETRY_LATER, RetryLater, this, value);
  }

  static {
    // On the prototype, so that a printed error does not show it.
    Object.defineProperty(this.prototype, RETRY_LATER, { value: true });
  }

  override readonly name = "RetryLater";
  /** Stable, so that code can branch on it. */
  readonly code = "retry_later";
  /** Milliseconds until the next attempt, as given; undefined if it was no number. */
  readonly afterMs: number | undefined;

  constructor(options: RetryLaterOptions = {}) {
    super(...messageAndCause(options, "retry later"));
    const afterMs = optionOf(options, "afterMs");
    this.afterMs = typeof afterMs === "number" ? afterMs : undefined;
  }
}

/**
 * Throw it in a handler to say "never again": the id counts as handled, and the gateway gets 200. The
 * constructor never throws: an invalid option counts as left out. `instanceof` also recognizes the error
 * of a second copy of the package.
 *
 * @example
 * if (account.isClosed) throw new DiscardDelivery({ reason: "account closed" });
 */
export class DiscardDelivery extends Error {
  static override [Symbol.hasInstance](value: unknown): boolean {
    return isInstance(DISCARD_DELIVERY, DiscardDelivery, this, value);
  }

  static {
    // On the prototype, so that a printed error does not show it.
    Object.defineProperty(this.prototype, DISCARD_DELIVERY, { value: true });
  }

  override readonly name = "DiscardDelivery";
  /** Stable, so that code can branch on it. */
  readonly code = "discard_delivery";

  constructor(options: DiscardDeliveryOptions = {}) {
    super(...messageAndCause(options, "discarded"));
  }
}

/** The error in the report if a handler threw undefined, or its promise rejected with it. */
export class ThrewUndefinedError extends Error {
  override readonly name = "ThrewUndefinedError";
  /** Stable, so that code can branch on it. */
  readonly code = "threw_undefined";

  constructor() {
    super("the handler threw undefined");
  }
}

/** The arguments for the constructor of `Error`. */
function messageAndCause(options: unknown, fallback: string): [string, ErrorOptions?] {
  const reason = optionOf(options, "reason");
  const cause = optionOf(options, "cause");
  const message = typeof reason === "string" ? reason : fallback;
  return cause === undefined ? [message] : [message, { cause }];
}

/**
 * Reads one option, and never throws: a `TypeError` from `new DiscardDelivery(…)` inside a handler would
 * be answered 500 and sent again, against the handler's intent.
 */
function optionOf(options: unknown, name: string): unknown {
  try {
    return typeof options === "object" && options !== null
      ? (options as Record<string, unknown>)[name]
      : undefined;
  } catch {
    return undefined;
  }
}
