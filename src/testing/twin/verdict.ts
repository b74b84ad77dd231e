/** Statuses after which the gateway sends the delivery again (GATEWAY.md, "Events", rule 2). */
export const RETRYABLE_STATUSES: readonly number[] = [408, 409, 429, 500, 502, 503, 504];

/** Statuses after which the gateway gives the delivery up for good (GATEWAY.md, "Events", rule 2). */
export const FINAL_STATUSES: readonly number[] = [400, 401, 403, 404, 422];

/**
 * What one attempt means to the gateway. `unlisted` is a status of which its document says nothing:
 * a redirect, 405, 410, 413, 501, …
 */
export type Verdict =
  "acknowledged" | "retryable" | "final" | "unlisted" | "network_error" | "timeout";

/** What a status means to the gateway. */
export function verdictOf(status: number): Verdict {
  if (status >= 200 && status <= 299) return "acknowledged";
  if (RETRYABLE_STATUSES.includes(status)) return "retryable";
  return FINAL_STATUSES.includes(status) ? "final" : "unlisted";
}

/** What the twin does after a status that the document does not name. */
export type UnlistedStatusRule = "give_up" | "retry";

/** How an attempt ends its delivery; undefined where another one follows. */
export function endAfter(
  verdict: Verdict,
  unlistedStatus: UnlistedStatusRule,
): "acknowledged" | "given_up" | undefined {
  switch (verdict) {
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
