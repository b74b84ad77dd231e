import { OUTCOMES, type WebhookOutcome, type OutcomeRule } from "./outcome.js";
import { retryAfterSeconds } from "./retry-after.js";

/** The answer to one request, as plain values that any server can write. */
export interface WebhookResponse {
  /** HTTP status code. */
  readonly status: number;
  /** Headers, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * JSON text: `{ "outcome": … }` with status 200, otherwise the gateway's error envelope `{ "error": {
   * "code", "message" } }`. Empty for `reachable`, the answer to GET and HEAD.
   */
  readonly body: string;
  /** What became of the request. */
  readonly outcome: WebhookOutcome;
}

/** The answer to one outcome, and the table row that it is made of. */
export interface Answer {
  readonly response: WebhookResponse;
  readonly rule: OutcomeRule;
}

/**
 * Makes the answer to every outcome once, so that a request costs no serialization. All requests share
 * the answers, so they are frozen.
 */
export function answersByOutcome(
  unverifiable: "retry" | "reject",
): Readonly<Record<WebhookOutcome, Answer>> {
  return Object.fromEntries(
    Object.keys(OUTCOMES).map((name) => {
      const outcome = name as WebhookOutcome;
      return [outcome, { response: responseTo(outcome, unverifiable), rule: OUTCOMES[outcome] }];
    }),
  ) as Record<WebhookOutcome, Answer>;
}

/** The answer with a `Retry-After` of `retryAfterMs`, if its outcome has that header at all. */
export function delayedResponse({ response, rule }: Answer, retryAfterMs: number): WebhookResponse {
  if (rule.retryAfterMs === undefined) return response;
  const seconds = retryAfterSeconds(retryAfterMs, rule.retryAfterMs);
  return { ...response, headers: { ...response.headers, "retry-after": seconds } };
}

function responseTo(outcome: WebhookOutcome, unverifiable: "retry" | "reject"): WebhookResponse {
  const rule = OUTCOMES[outcome];
  const rejected = unverifiable === "reject" ? rule.rejectStatus : undefined;
  const status = rejected ?? rule.status;
  const isEmpty = outcome === "reachable";
  const headers: Record<string, string> = {
    ...(isEmpty ? {} : { "content-type": "application/json" }),
    // Otherwise a cache in front that ignores the method could answer a delivery with the 200 of a probe.
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
