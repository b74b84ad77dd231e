import { resultOfStatus } from "../../src/answer/outcome.js";
import type { AttemptResult } from "../../kit/twin/attempt-result.js";
import type { Format } from "../terminal/command-io.js";
import { answeredFields, type AnsweredBy } from "../../kit/sending/answered-by.js";
import { faultText, SendError, type Sender } from "../../kit/sending/target.js";
import type { WireRequest } from "../../kit/sending/wire.js";
import { untilAborted } from "../exit.js";
import { printableLine } from "../terminal/printable.js";

/** The result of one request. */
export interface Exchange {
  /** HTTP status. Undefined if no answer came. */
  readonly status?: number;
  /** The outcome that the answer names, if it names one. */
  readonly outcome?: string;
  /** Who gave a 2xx. */
  readonly answeredBy?: AnsweredBy;
  /** Milliseconds, to a tenth. */
  readonly ms: number;
  /** Why no answer came. */
  readonly error?: string;
}

/** Sends a request. Rejects only when the command is interrupted, not when no answer comes. */
export async function exchange(
  sender: Sender,
  request: WireRequest,
  signal: AbortSignal,
): Promise<Exchange> {
  const startedAt = performance.now();
  try {
    const answer = await untilAborted(signal, sender.send(request));
    const { status, outcome, ...answered } = answeredFields(answer);
    const shown = outcome === undefined ? {} : { outcome: printableLine(outcome, 40) };
    return { status, ms: tenth(answer.ms), ...shown, ...answered };
  } catch (error) {
    if (!(error instanceof SendError)) throw error;
    return { error: sendFault(error), ms: tenth(performance.now() - startedAt) };
  }
}

function tenth(ms: number): number {
  return Number(ms.toFixed(1));
}

/** Why no answer came, in one line. */
export function sendFault(error: unknown): string {
  return printableLine(faultText(error));
}

/** How the gateway reads an answer, or a missing one. */
export function readingOf(status: number | undefined): AttemptResult {
  return status === undefined ? "network_error" : resultOfStatus(status);
}

/** What the gateway does after each reading, and the format to show it in. */
export const READINGS: Readonly<Record<AttemptResult, { text: string; format: Format }>> = {
  acknowledged: { text: "takes it as received", format: "green" },
  retryable: { text: "sends it again later", format: "yellow" },
  network_error: { text: "sends it again later", format: "yellow" },
  timeout: { text: "sends it again later", format: "yellow" },
  final: { text: "gives it up for good", format: "red" },
  unlisted: { text: "may give it up: not in its contract", format: "red" },
};
