import { OUTCOMES, resultOfStatus, type WebhookOutcome } from "../../src/answer/outcome.js";
import { usualCauses } from "../../src/answer/outcome-causes.js";
import type { ConformanceDescription, FailureCode } from "./conformance-case.js";
import type { SendError } from "../sending/target.js";
import { outcomeOf, type WireAnswer } from "../sending/wire.js";
import type { AttemptResult } from "../twin/attempt-result.js";

/** The receiver's answer to one request, and what it means to the gateway. */
export interface ReceiverAnswer {
  readonly result: AttemptResult;
  /** Undefined when no answer arrived. */
  readonly wire: WireAnswer | undefined;
  /** The outcome in the answer's JSON. Undefined when it names none. */
  readonly outcome: string | undefined;
  /** What shows that someone else gave a 2xx. Undefined for any other answer. */
  readonly stranger?: string | undefined;
  /** For a message: "401, after which the gateway gives up for good". */
  readonly text: string;
}

/** What a request was to be answered with. */
export type Expected =
  | "2xx"
  | "2xx or a retryable status"
  | "a retryable status"
  | "a refusal"
  | "an answer"
  | "less than 500"
  | "a status of the gateway's contract";

const MEANING: Readonly<Record<AttemptResult, string>> = {
  acknowledged: "which acknowledges the delivery",
  retryable: "after which the gateway sends it again",
  final: "after which the gateway gives up for good",
  unlisted: "which the gateway's contract does not mention",
  network_error: "",
  timeout: "",
};

const KEEP_OTHERS_OUT =
  "Let nothing in front of the receiver answer 2xx in its place: a firewall, a maintenance page or a login page must answer 503. The gateway takes each 2xx as received, so such a delivery is lost, and your logs show nothing.";

/** Reads an answer as the gateway does. */
export function answerOf(wire: WireAnswer, stranger?: string): ReceiverAnswer {
  const result = resultOfStatus(wire.status);
  const outcome = outcomeOf(wire.body);
  return { result, wire, outcome, stranger, text: `${wire.status}, ${MEANING[result]}` };
}

/** Reads a missing answer as the gateway does. */
export function noAnswer(error: SendError): ReceiverAnswer {
  const result = error.code === "timeout" ? "timeout" : "network_error";
  const text = `no answer (${error.message})`;
  return { result, wire: undefined, outcome: undefined, text };
}

/** Whether the delivery is handled, or sent again after this answer. */
export function isSafe(answer: ReceiverAnswer): boolean {
  return answer.result === "acknowledged" || isRetried(answer);
}

/** Whether the gateway sends the delivery again after this answer. */
export function isRetried({ result }: ReceiverAnswer): boolean {
  return result === "retryable" || result === "network_error" || result === "timeout";
}

const REFUSED_ACCOUNT =
  "If a table refused the record, name an account that it has: --account-id, or accountIds.";
const REFUSED_VALUE =
  "If a table refused the record, let its columns take what the case sends: text instead of an enum, a CHECK or varchar(255), and NULL for a missing field.";

/**
 * What to do if an answer names an outcome of this library whose cause is the receiver, and not the request.
 * Undefined for any other answer. `refused`: what to do if a table has refused the record.
 */
export function adviceOn(outcome = "", refused = REFUSED_ACCOUNT): string | undefined {
  const isOurs = Object.hasOwn(OUTCOMES, outcome) && outcome !== "unrecognized";
  if (!isOurs || OUTCOMES[outcome as WebhookOutcome].status < 500) return undefined;
  const causes = usualCauses(outcome as WebhookOutcome);
  const more = outcome === "handler_failed" ? ` ${refused}` : "";
  return `Look into the log of the receiver, which answers ${outcome}. ${causes}${more}`;
}

/** Rules for a plain delivery. While these fail, the other rules prove nothing. */
export const BASELINE: readonly string[] = ["alarm", "event"];

/** What to change: the case's own `fix`, and what the answer shows beside it. */
export function fixAfter(
  code: FailureCode,
  { id, fix }: Pick<ConformanceDescription, "id" | "fix">,
  answer?: ReceiverAnswer,
): string {
  if (code === "answered_by_other") return KEEP_OTHERS_OUT;
  if (code !== "receiver_failed") return fix;
  const outcome = answer?.outcome;
  const isBaseline = BASELINE.includes(id);
  const advice = adviceOn(outcome, isBaseline ? REFUSED_ACCOUNT : REFUSED_VALUE) ?? fix;
  return outcome === "handler_failed" && !isBaseline ? `${advice} ${fix}` : advice;
}

/** Why an answer is not the expected one. */
export function codeOf(expected: Expected, { wire, result, outcome }: ReceiverAnswer): FailureCode {
  if (adviceOn(outcome) !== undefined) return "receiver_failed";
  if (result === "unlisted") return "unlisted_status";
  if (wire === undefined) return "no_answer";
  if (result === "acknowledged") return "acknowledged";
  if (expected === "less than 500") return "server_error";
  const mayBeRetried =
    expected === "a retryable status" || expected === "2xx or a retryable status";
  return mayBeRetried && result === "final" ? "given_up" : "not_accepted";
}

/** Whether the status is 429. From a rate limiter it says nothing about the request. */
export function isOfLimiter({ wire }: ReceiverAnswer): boolean {
  return wire?.status === 429;
}

/** Retryable statuses of the receiver itself. The others come from a rate limiter or a proxy. */
const RECEIVER_STATUSES: readonly number[] = [409, 500];

/** Whether the answer asks to come back later, as a rate limiter or a busy receiver does. */
export function saysLater({ result, wire }: ReceiverAnswer): boolean {
  if (result !== "retryable" || wire === undefined) return false;
  return "retry-after" in wire.headers || !RECEIVER_STATUSES.includes(wire.status);
}

/** Whether the handler failed or took the process down. A 503 says that the receiver is not ready for the record yet. */
export function isOfHandler({ result, wire }: ReceiverAnswer): boolean {
  return wire === undefined ? result === "network_error" : wire.status === 500;
}

/** "never", "once" or "3 times", for a message. */
export function times(runs: number): string {
  if (runs === 0) return "never";
  return runs === 1 ? "once" : `${runs} times`;
}
