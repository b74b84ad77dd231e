import type { SendError } from "../sending/target.js";
import { verdictOf, type Verdict } from "../twin/verdict.js";
import { outcomeOf, type WireAnswer } from "../sending/wire.js";

/** What came back, as the gateway takes it. */
export interface Reply {
  readonly verdict: Verdict;
  /** Undefined where no answer came. */
  readonly answer: WireAnswer | undefined;
  /** The outcome that the answer names; undefined for a receiver of another make. */
  readonly outcome: string | undefined;
  /** For a message: "401, after which the gateway gives up for good". */
  readonly text: string;
}

const MEANING: Readonly<Record<Verdict, string>> = {
  acknowledged: "which acknowledges it",
  retryable: "after which the gateway sends it again",
  final: "after which the gateway gives it up for good",
  unlisted: "of which the gateway's contract says nothing",
  network_error: "",
  timeout: "",
};

/** What an answer means. */
export function replyOf(answer: WireAnswer): Reply {
  const verdict = verdictOf(answer.status);
  const outcome = outcomeOf(answer.body);
  return { verdict, answer, outcome, text: `${answer.status}, ${MEANING[verdict]}` };
}

/** What it means that no answer came. */
export function noReply(error: SendError): Reply {
  const verdict = error.code === "timeout" ? "timeout" : "network_error";
  const text = `no answer (${error.message})`;
  return { verdict, answer: undefined, outcome: undefined, text };
}

/** Whether the gateway will send the delivery again. */
export function isSentAgain({ verdict }: Reply): boolean {
  return verdict === "retryable" || verdict === "network_error" || verdict === "timeout";
}
