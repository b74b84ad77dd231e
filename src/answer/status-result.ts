/** Statuses after which the gateway sends the delivery again (the gateway's document, section "Events", rule 2). */
export const RETRYABLE_STATUSES: readonly number[] = [408, 409, 429, 500, 502, 503, 504];

/**
 * Statuses after which the gateway gives the delivery up for good (the gateway's document, section "Events", rule 2).
 */
export const FINAL_STATUSES: readonly number[] = [400, 401, 403, 404, 422];

/** What a status means to the gateway. `unlisted`: its document does not mention the status. */
export type StatusResult = "acknowledged" | "retryable" | "final" | "unlisted";

/** What a status means to the gateway. */
export function resultOfStatus(status: number): StatusResult {
  if (status >= 200 && status <= 299) return "acknowledged";
  if (RETRYABLE_STATUSES.includes(status)) return "retryable";
  return FINAL_STATUSES.includes(status) ? "final" : "unlisted";
}
