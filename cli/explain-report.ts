import type { SignatureDiagnosis } from "../kit/diagnosis/diagnose-signature.js";
import type { SignatureFinding } from "../kit/diagnosis/finding.js";
import type { ExpectedAnswer } from "../kit/diagnosis/expected-answer.js";
import type { OutcomeAndStatus } from "../kit/plain-receiver.js";
import { OUTCOMES } from "../src/answer/outcome.js";
import { OUTCOME_CAUSES } from "../src/answer/outcome-causes.js";
import { resultLine, type Output } from "./terminal/command-io.js";
import { hanging, textWidth } from "./terminal/wrap.js";
import { printableLine } from "./terminal/printable.js";

const INDENT = " ".repeat(4);

const CERTAINTIES = {
  proven: "proven: without it the signature matches",
  seen: "seen in the request or the secret",
  possible: "possible",
} as const satisfies Record<SignatureFinding["certainty"], string>;

/** Shows a diagnosis. */
export function describeDiagnosis(
  output: Output,
  { result, findings, secretIndex, answer }: SignatureDiagnosis,
  secrets: number,
): void {
  const isGood = result === "good";
  const which =
    secretIndex === undefined || secrets === 1
      ? ""
      : ` It is secret ${secretIndex + 1} of ${secrets}.`;
  const sentence = isGood
    ? "The signature is good, and the delivery fresh."
    : answer === undefined
      ? "A receiver refuses this delivery."
      : `The signature is right, but a receiver answers ${nameOf(answer)}.`;
  output.write(`${resultLine(output, isGood, sentence + which)}\n`);
  if (isGood && answer !== undefined) {
    output.write(`${indented(output, answerLines(answer)).join("\n")}\n`);
  }
  for (const finding of findings) output.write(`\n${linesOf(output, finding).join("\n")}\n`);
  if (!findings.some(({ code }) => code === "unexplained")) return;
  const causes = OUTCOME_CAUSES.signature_mismatch.causes.map((cause) => `- ${cause}`);
  output.write(`\n  Usual causes:\n${indented(output, causes).join("\n")}\n`);
}

/** What a receiver does with a good delivery depends on its handlers. */
function answerLines({ withoutHandler, ...answer }: ExpectedAnswer): readonly string[] {
  const lines = [`A receiver with a handler for it answers ${nameOf(answer)}.`];
  if (withoutHandler !== undefined) {
    const { message } = OUTCOMES[withoutHandler.outcome];
    lines.push(`One whose handlers do not name it answers ${nameOf(withoutHandler)}: ${message}`);
  }
  return lines;
}

function nameOf({ outcome, status }: OutcomeAndStatus): string {
  return `${status} ${outcome}`;
}

function linesOf(output: Output, { code, certainty, message, fix }: SignatureFinding) {
  const { style } = output;
  return [
    `  ${style("bold", code)} ${style("dim", `(${CERTAINTIES[certainty]})`)}`,
    ...indented(output, [message]),
    ...indented(output, [fix]).map((line) => style("cyan", line)),
  ];
}

function indented(output: Output, texts: readonly string[]): readonly string[] {
  return texts.flatMap((text) => hanging(INDENT, printableLine(text, 1_000), textWidth(output)));
}
