import { verdictOf, type Verdict } from "../../testing/twin/verdict.js";
import type { Format } from "../terminal/style.js";

/** How the gateway reads an answer, or that none came. */
export function readingOf(status: number | undefined): Verdict {
  return status === undefined ? "network_error" : verdictOf(status);
}

/** What the gateway makes of a reading, and how it is shown. */
export const READINGS: Readonly<Record<Verdict, { text: string; format: Format }>> = {
  acknowledged: { text: "takes it as received", format: "green" },
  retryable: { text: "sends it again later", format: "yellow" },
  network_error: { text: "sends it again later", format: "yellow" },
  timeout: { text: "sends it again later", format: "yellow" },
  final: { text: "gives it up for good", format: "red" },
  unlisted: { text: "may give it up: not in its contract", format: "red" },
};
