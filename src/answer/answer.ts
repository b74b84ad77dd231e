import { OUTCOMES, ruleOf, type Outcome, type OutcomeRule } from "./outcome.js";

/** What the gateway is to be answered. Plain values, so that any server can write them. */
export interface WebhookResponse {
  /** HTTP status code. */
  readonly status: number;
  /** Header names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * JSON text: `{ "outcome" }`, or the gateway's error envelope `{ "error": { "code", "message" } }`. Empty
   * in answer to GET and HEAD.
   */
  readonly body: string;
  /** What became of the delivery. */
  readonly outcome: Outcome;
}

/** The answer to an outcome, and the row of the table that it is made of. */
export interface Answer {
  readonly response: WebhookResponse;
  readonly rule: OutcomeRule;
}

/** The longest delay named in `Retry-After`: a day, well inside the gateway's 36 hours of attempts. */
const MAX_RETRY_AFTER_MS = 86_400_000;

/**
 * Makes every answer once, so that a request costs no serialisation. The answers are frozen because
 * all requests share them.
 */
export function createAnswers(unverifiable: "retry" | "reject"): (outcome: Outcome) => Answer {
  const answers = Object.fromEntries(
    Object.keys(OUTCOMES).map((name) => {
      const outcome = name as Outcome;
      return [outcome, { response: createResponse(outcome, unverifiable), rule: ruleOf(outcome) }];
    }),
  ) as Record<Outcome, Answer>;
  return (outcome) => answers[outcome];
}

/** The answer with another delay than the outcome's own, where it has one. */
export function delayedResponse({ response, rule }: Answer, retryAfterMs: number): WebhookResponse {
  if (rule.retryAfterMs === undefined) return response;
  const seconds = retryAfterSeconds(retryAfterMs, rule.retryAfterMs);
  return { ...response, headers: { ...response.headers, "retry-after": seconds } };
}

function createResponse(outcome: Outcome, unverifiable: "retry" | "reject"): WebhookResponse {
  const rule = ruleOf(outcome);
  const rejected = unverifiable === "reject" ? rule.rejectStatus : undefined;
  const status = rejected ?? rule.status;
  const isEmpty = outcome === "reachable";
  const headers: Record<string, string> = {
    ...(isEmpty ? {} : { "content-type": "application/json" }),
    // A cache in front that asks for no method would answer the next delivery with this one's 200.
    "cache-control": "no-store",
  };
  if (outcome === "method_not_allowed") headers["allow"] = "GET, HEAD, POST";
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
    body: isEmpty ? "" : JSON.stringify(body),
    outcome,
  });
}

/** `Retry-After` as whole seconds (RFC 9110, section 10.2.3), at least 1: 0 would invite a busy loop. */
function retryAfterSeconds(ms: number, fallbackMs: number): string {
  const usable = Number.isFinite(ms) ? Math.min(Math.max(ms, 1), MAX_RETRY_AFTER_MS) : fallbackMs;
  return String(Math.ceil(usable / 1000));
}
