import { HEADERS } from "../delivery/headers.js";
import { FINAL_STATUSES, RETRYABLE_STATUSES } from "../common/gateway-facts.js";

/** How one outcome is answered and logged. */
export interface OutcomeRule {
  /** HTTP status of the answer. */
  readonly status: number;
  /** Status of the answer if `unverifiable` makes the outcome final. */
  readonly rejectStatus?: number;
  /** Default of `Retry-After`, in milliseconds. The handler or the store may give another value. */
  readonly retryAfterMs?: number;
  /** The logger method that writes the line. If it is absent, no line is written. */
  readonly log?: "warn" | "error";
  /**
   * Limits the lines to one a minute, so that a flood of requests does not flood the log.
   * `by_outcome`: anyone can cause the outcome, or an outage causes it for every request. `by_id`: a
   * sender who captured one delivery can cause it repeatedly, so each id gets its own line.
   */
  readonly rateLimit?: "by_outcome" | "by_id";
  /** One sentence for the answer and the log. Holds no part of the request. */
  readonly message: string;
}

/**
 * What became of a request. The names are stable; docs/answers.md lists the status of each. A minor
 * version may add members, so a `switch` over outcomes needs a `default`.
 */
export type WebhookOutcome =
  | "handled"
  | "duplicate"
  | "discarded"
  | "unhandled"
  | "in_flight"
  | "reachable"
  | "method_not_allowed"
  | "malformed"
  | "unsigned"
  | "signature_mismatch"
  | "stale"
  | "type_mismatch"
  | "body_too_large"
  | "body_timeout"
  | "body_consumed"
  | "unrecognized"
  | "handler_failed"
  | "handler_timeout"
  | "retry_later"
  | "overloaded"
  | "store_unavailable"
  | "secret_unavailable"
  | "draining"
  | "internal_error";

/** An outcome of a request that cannot be verified. */
type UnverifiableOutcome =
  "malformed" | "unsigned" | "signature_mismatch" | "stale" | "type_mismatch" | "body_too_large";

/**
 * What requests are answered that cannot be verified. `"retry"`: a status after which the gateway sends them again.
 * `"reject"`: the conventional 400, 401 and 413, after which it gives them up for good. An object chooses for each
 * outcome; one that it does not name is retried.
 */
export type UnverifiableOption =
  | "retry"
  | "reject"
  | Readonly<Partial<Record<UnverifiableOutcome, "retry" | "reject" | undefined>>>;

/**
 * Every outcome that a request can have, and how it is answered.
 *
 * The gateway gives up a delivery for good on 400, 401, 403, 404 and 422, so the `status` column has none of them: a
 * wrong secret in a deploy, a drifting clock or a body parser mounted in front would lose alarms. A 5xx is answered
 * only to authentic traffic, or if the cause is on our side.
 */
export const OUTCOMES: Readonly<Record<WebhookOutcome, OutcomeRule>> = {
  handled: { status: 200, message: "The delivery was handled." },
  duplicate: { status: 200, message: "The delivery was handled before." },
  discarded: {
    status: 200,
    log: "warn",
    message: "The handler discarded the delivery for good.",
  },
  unhandled: { status: 200, message: "No handler is given for this type of delivery." },
  in_flight: {
    status: 409,
    retryAfterMs: 10_000,
    message: "The delivery is being handled right now.",
  },
  reachable: { status: 200, message: "The URL is reachable." },
  method_not_allowed: { status: 405, message: "Webhooks are delivered by POST." },
  malformed: {
    status: 409,
    rejectStatus: 400,
    log: "warn",
    rateLimit: "by_outcome",
    message: "A webhook header is missing, repeated or malformed.",
  },
  unsigned: {
    status: 409,
    rejectStatus: 401,
    log: "warn",
    rateLimit: "by_outcome",
    message: "The delivery is not signed, and a secret is configured.",
  },
  signature_mismatch: {
    status: 409,
    rejectStatus: 401,
    log: "warn",
    rateLimit: "by_outcome",
    message: "No configured secret gives this signature over these bytes.",
  },
  stale: {
    status: 409,
    rejectStatus: 401,
    // Only the gateway can cause it, or a sender who captured a delivery.
    log: "error",
    rateLimit: "by_outcome",
    message: "The signed timestamp is outside the tolerance.",
  },
  type_mismatch: {
    status: 409,
    rejectStatus: 400,
    log: "warn",
    rateLimit: "by_outcome",
    message: `${HEADERS.type.name} and the signed body disagree.`,
  },
  body_too_large: {
    status: 409,
    rejectStatus: 413,
    log: "warn",
    rateLimit: "by_outcome",
    message: "The body is larger than the limit allows.",
  },
  body_timeout: {
    status: 408,
    log: "warn",
    rateLimit: "by_outcome",
    message: "The upload of the body stalled or took too long.",
  },
  body_consumed: {
    status: 503,
    log: "error",
    rateLimit: "by_outcome",
    message: "The raw body was consumed before the receiver could read it.",
  },
  unrecognized: {
    status: 503,
    log: "error",
    rateLimit: "by_id",
    message: "The delivery is authentic, but not of a documented shape or type.",
  },
  handler_failed: {
    status: 500,
    log: "error",
    rateLimit: "by_id",
    message: "The handler failed.",
  },
  handler_timeout: {
    status: 503,
    retryAfterMs: 30_000,
    log: "error",
    message: "The handler did not finish in time.",
  },
  retry_later: {
    status: 503,
    retryAfterMs: 60_000,
    log: "warn",
    rateLimit: "by_id",
    message: "The handler asked for the delivery again later.",
  },
  overloaded: {
    status: 503,
    retryAfterMs: 25_000,
    log: "error",
    rateLimit: "by_outcome",
    message: "As many handlers are running as may at once, and none ended in time.",
  },
  store_unavailable: {
    status: 503,
    log: "error",
    rateLimit: "by_outcome",
    message: "The delivery store did not answer.",
  },
  secret_unavailable: {
    status: 503,
    log: "error",
    rateLimit: "by_outcome",
    message: "The secret function gave no usable secret.",
  },
  draining: {
    status: 503,
    retryAfterMs: 10_000,
    message: "The receiver is shutting down.",
  },
  internal_error: { status: 500, log: "error", message: "The receiver failed." },
};

/** Requests whose answer and log line differ from those of their outcome. */
export const VARIANTS = {
  /** OPTIONS, by which some load balancers probe. */
  options: {
    outcome: "reachable",
    status: 204,
    message: "To OPTIONS, the answer names the methods that are taken.",
  },
  /** A delivery that a redirect in front turned into a GET. No `rejectStatus`: all of them would be given up. */
  redirected: {
    outcome: "malformed",
    status: 409,
    log: "warn",
    rateLimit: "by_outcome",
    message: "A delivery has lost its method and its body: something in front redirects it.",
  },
} as const satisfies Record<string, OutcomeRule & { readonly outcome: WebhookOutcome }>;

/** The outcomes that `unverifiable` can make final. */
export const UNVERIFIABLE_OUTCOMES = (Object.keys(OUTCOMES) as WebhookOutcome[]).filter(
  (outcome) => OUTCOMES[outcome].rejectStatus !== undefined,
);

/** The name of a row of `VARIANTS`. */
export type OutcomeVariant = keyof typeof VARIANTS;

/** What a status means to the gateway. `unlisted`: its document does not mention the status. */
export type StatusResult = "acknowledged" | "retryable" | "final" | "unlisted";

/** What a status means to the gateway. */
export function resultOfStatus(status: number): StatusResult {
  if (status >= 200 && status <= 299) return "acknowledged";
  if (RETRYABLE_STATUSES.includes(status)) return "retryable";
  return FINAL_STATUSES.includes(status) ? "final" : "unlisted";
}
