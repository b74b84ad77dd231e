import type { StatusResult } from "../../src/answer/outcome.js";

/**
 * What the result of one attempt means to the gateway. May gain members in a minor version.
 *
 * - `acknowledged`: any 2xx. The delivery is done.
 * - `retryable`: 408, 409, 429, 500, 502, 503, 504. The gateway sends the delivery again.
 * - `final`: 400, 401, 403, 404, 422. The gateway gives the delivery up for good.
 * - `unlisted`: a status that the gateway's document does not mention: a redirect, 405, 410, 413, 501, …
 * - `network_error`, `timeout`: no answer arrived. The gateway sends the delivery again.
 *
 * @experimental
 */
export type AttemptResult = StatusResult | "network_error" | "timeout";

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
  if (result === "acknowledged") return "acknowledged";
  const isGivenUp = result === "final" || (result === "unlisted" && unlistedStatus === "give_up");
  return isGivenUp ? "given_up" : undefined;
}
