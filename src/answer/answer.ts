import {
  OUTCOMES,
  VARIANTS,
  type OutcomeRule,
  type OutcomeVariant,
  type WebhookOutcome,
} from "./outcome.js";
import { retryAfterSeconds } from "./retry-after.js";

/** The answer to one request, as plain values that any server can write. */
export interface WebhookResponse {
  /** HTTP status code. */
  readonly status: number;
  /** Headers, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * JSON text: `{ "outcome": … }` with status 200, otherwise the gateway's error envelope `{ "error": {
   * "code", "message" } }`. Empty for `reachable`, the answer to GET, HEAD and OPTIONS.
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
 * Makes the answer to every outcome and variant once, so that a request costs no serialization. All requests share
 * the answers, so they are frozen. `finalOutcomes`: those that the gateway is told to give up.
 */
export function answersByOutcome(
  finalOutcomes?: ReadonlySet<WebhookOutcome>,
): Readonly<Record<WebhookOutcome | OutcomeVariant, Answer>> {
  const answerTo = (outcome: WebhookOutcome, rule: OutcomeRule): Answer => ({
    response: responseTo(outcome, rule, finalOutcomes?.has(outcome)),
    rule,
  });
  return Object.fromEntries([
    ...(Object.keys(OUTCOMES) as WebhookOutcome[]).map((outcome) => [
      outcome,
      answerTo(outcome, OUTCOMES[outcome]),
    ]),
    ...Object.entries(VARIANTS).map(([name, rule]) => [name, answerTo(rule.outcome, rule)]),
  ]) as Record<WebhookOutcome | OutcomeVariant, Answer>;
}

/** The answer with a `Retry-After` of `retryAfterMs`, if its outcome has that header at all. */
export function delayedResponse({ response, rule }: Answer, retryAfterMs: number): WebhookResponse {
  if (rule.retryAfterMs === undefined) return response;
  const seconds = retryAfterSeconds(retryAfterMs, rule.retryAfterMs);
  return { ...response, headers: { ...response.headers, "retry-after": seconds } };
}

function responseTo(outcome: WebhookOutcome, rule: OutcomeRule, isFinal = false): WebhookResponse {
  const status = (isFinal ? rule.rejectStatus : undefined) ?? rule.status;
  const isEmpty = outcome === "reachable";
  const headers: Record<string, string> = {
    ...(isEmpty ? {} : { "content-type": "application/json" }),
    // Otherwise a cache in front that ignores the method could answer a delivery with the 200 of a probe.
    "cache-control": "no-store",
  };
  if (status === 204 || status === 405) headers["allow"] = "GET, HEAD, OPTIONS, POST";
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
