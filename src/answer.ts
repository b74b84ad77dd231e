import { OUTCOMES, ruleOf, type Outcome } from "./outcome.js";

/** What the gateway is to be answered. Plain values, so that any server can write them. */
export interface WebhookResponse {
  /** HTTP status code. */
  readonly status: number;
  /** Header names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text: `{ "outcome" }`, or the gateway's error envelope `{ "error": { "code", "message" } }`. */
  readonly body: string;
  /** What became of the delivery. */
  readonly outcome: Outcome;
}

/** Answers an outcome; `retryAfterMs` replaces the outcome's own delay where it has one. */
export type Answer = (outcome: Outcome, retryAfterMs?: number) => WebhookResponse;

/** The longest delay named in `Retry-After`: a day, well inside the gateway's 36 hours of attempts. */
const MAX_RETRY_AFTER_MS = 86_400_000;

/**
 * Makes every answer once, so that a request costs no serialisation. The answers are frozen because
 * all requests share them.
 */
export function createAnswer(unverifiable: "retry" | "reject"): Answer {
  const answers = Object.fromEntries(
    Object.keys(OUTCOMES).map((name) => {
      const outcome = name as Outcome;
      return [outcome, createResponse(outcome, unverifiable)];
    }),
  ) as Record<Outcome, WebhookResponse>;

  return (outcome, retryAfterMs) => {
    const response = answers[outcome];
    const fallbackMs = ruleOf(outcome).retryAfterMs;
    if (retryAfterMs === undefined || fallbackMs === undefined) return response;
    const seconds = retryAfterSeconds(retryAfterMs, fallbackMs);
    return { ...response, headers: { ...response.headers, "retry-after": seconds } };
  };
}

function createResponse(outcome: Outcome, unverifiable: "retry" | "reject"): WebhookResponse {
  const rule = ruleOf(outcome);
  const rejected = unverifiable === "reject" ? rule.rejectStatus : undefined;
  const status = rejected ?? rule.status;
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (outcome === "method_not_allowed") headers["allow"] = "POST";
  if (rule.retryAfterMs !== undefined) {
    headers["retry-after"] = retryAfterSeconds(rule.retryAfterMs, rule.retryAfterMs);
  }
  const body =
    status === 200
      ? { outcome }
      : { error: { code: outcome.toUpperCase(), message: rule.message } };
  return Object.freeze({
    status,
    headers: Object.freeze(headers),
    body: JSON.stringify(body),
    outcome,
  });
}

/** `Retry-After` as whole seconds (RFC 9110, section 10.2.3), at least 1: 0 would invite a busy loop. */
function retryAfterSeconds(ms: number, fallbackMs: number): string {
  const usable = Number.isFinite(ms) ? Math.min(Math.max(ms, 1), MAX_RETRY_AFTER_MS) : fallbackMs;
  return String(Math.ceil(usable / 1000));
}
