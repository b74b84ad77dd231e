import { GatewayWebhookError, brandErrors } from "../common/errors.js";

/** Options of `RetryLater`. */
export interface RetryLaterOptions {
  /**
   * How long the gateway should wait before its next attempt, in milliseconds. Sent as `Retry-After` in whole
   * seconds, from 1 to 86 400. Default 60 000, also for a value that is not a finite number. The gateway's own
   * schedule has the last word.
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
 * Throw it in a handler to say "again later": the id is released, and the gateway gets 503 with
 * `Retry-After`. The constructor never throws: an invalid option counts as left out. `instanceof` also
 * recognizes the error of a second copy of the package.
 *
 * @example
 * if (response.status === 429) throw new RetryLater({ afterMs: 120_000, reason: "rate limited" });
 */
export class RetryLater extends GatewayWebhookError<"retry_later"> {
  static {
    brandErrors(this, "RetryLater");
  }

  /** Milliseconds until the next attempt, as given; undefined if it was no number. */
  readonly afterMs: number | undefined;

  constructor(options: RetryLaterOptions = {}) {
    super("retry_later", ...messageAndCause(options, "retry later"));
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
export class DiscardDelivery extends GatewayWebhookError<"discard_delivery"> {
  static {
    brandErrors(this, "DiscardDelivery");
  }

  constructor(options: DiscardDeliveryOptions = {}) {
    super("discard_delivery", ...messageAndCause(options, "discarded"));
  }
}

/** The message and the cause for the constructor. */
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
