/** Statuses after which the gateway sends the delivery again (the gateway's document, section "Events", rule 2). */
export const RETRYABLE_STATUSES: readonly number[] = [408, 409, 429, 500, 502, 503, 504];

/**
 * Statuses after which the gateway gives the delivery up for good (the gateway's document, section "Events", rule 2).
 */
export const FINAL_STATUSES: readonly number[] = [400, 401, 403, 404, 422];

/**
 * What the result of one attempt means to the gateway. May gain members in a minor version.
 *
 * - `acknowledged`: any 2xx. The delivery is done.
 * - `retryable`: one of `RETRYABLE_STATUSES`. The gateway sends the delivery again.
 * - `final`: one of `FINAL_STATUSES`. The gateway gives the delivery up for good.
 * - `unlisted`: a status that the gateway's document does not mention: a redirect, 405, 410, 413, 501, …
 * - `network_error`, `timeout`: no answer arrived. The gateway sends the delivery again.
 *
 * @experimental
 */
export type AttemptResult =
  "acknowledged" | "retryable" | "final" | "unlisted" | "network_error" | "timeout";

/** What a status means to the gateway. */
export function resultOfStatus(status: number): AttemptResult {
  if (status >= 200 && status <= 299) return "acknowledged";
  if (RETRYABLE_STATUSES.includes(status)) return "retryable";
  return FINAL_STATUSES.includes(status) ? "final" : "unlisted";
}

/**
 * What the twin does after a status that the gateway's document does not mention.
 *
 * @experimental
 */
export type UnlistedStatusRule = "give_up" | "retry";

/** How a delivery ends after an attempt with this result. Undefined when another attempt follows. */
export function endAfter(
  result: AttemptResult,
  unlistedStatus: UnlistedStatusRule,
): "acknowledged" | "given_up" | undefined {
  switch (result) {
    case "acknowledged":
      return "acknowledged";
    case "final":
      return "given_up";
    case "unlisted":
      return unlistedStatus === "give_up" ? "given_up" : undefined;
    case "retryable":
    case "network_error":
    case "timeout":
      return undefined;
  }
}
