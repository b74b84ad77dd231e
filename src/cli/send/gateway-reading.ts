import { resultOfStatus, type AttemptResult } from "../../testing/twin/attempt-result.js";
import type { Format } from "../terminal/style.js";

/** How the gateway reads an answer, or that none came. */
export function readingOf(status: number | undefined): AttemptResult {
  return status === undefined ? "network_error" : resultOfStatus(status);
}

/** What the gateway makes of a reading, and how it is shown. */
export const READINGS: Readonly<Record<AttemptResult, { text: string; format: Format }>> = {
  acknowledged: { text: "takes it as received", format: "green" },
  retryable: { text: "sends it again later", format: "yellow" },
  network_error: { text: "sends it again later", format: "yellow" },
  timeout: { text: "sends it again later", format: "yellow" },
  final: { text: "gives it up for good", format: "red" },
  unlisted: { text: "may give it up: not in its contract", format: "red" },
};
