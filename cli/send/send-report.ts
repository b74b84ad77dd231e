import { HEADERS } from "../../src/delivery/headers.js";
import { adviceOn } from "../../kit/conformance/receiver-answer.js";
import { resultLine, type Output } from "../terminal/command-io.js";
import { byWhom } from "../../kit/sending/answered-by.js";
import { READINGS, readingOf, type Exchange } from "./exchange.js";
import type { Prepared } from "./experiment.js";
import { printable, quotedLines } from "../terminal/printable.js";
import { hanging, textWidth } from "../terminal/wrap.js";
import { renderTable, type Cell } from "../terminal/table.js";
import { shownUrl } from "../options/target-url.js";

/** Shows the request without its signature, which anyone who reads it could use. */
export function describeRequest(
  { write, style, columns }: Output,
  url: URL,
  { request, experiments }: Prepared,
  showsBody: boolean,
): void {
  write(`${style("bold", `POST ${shownUrl(url)}`)}\n`);
  for (const [name, value] of request.headers) {
    const shown = name === HEADERS.signature.name ? "v1=…" : value;
    write(`  ${style("dim", name.padEnd(20))} ${printable(shown)}\n`);
  }
  write(`  ${style("dim", "body".padEnd(20))} ${request.body.length} bytes\n`);
  if (showsBody) {
    const text = new TextDecoder().decode(request.body);
    write(`${quotedLines(text, "  ", columns).join("\n")}\n`);
  }
  for (const experiment of experiments) write(`  ${style("yellow", experiment)}\n`);
  write("\n");
}

/** Shows the answers, and the result in one sentence. */
export function describeAnswers(
  output: Output,
  { experiments }: Prepared,
  answers: readonly Exchange[],
  passed: boolean,
): void {
  const isExperiment = experiments.length > 0;
  // Without its first cell for a single answer. The gateway would give up, or send again, a delivery of its own.
  const [from, to] = [answers.length > 1 ? 0 : 1, isExperiment ? -1 : undefined];
  const rows = answers.map((answer, at) =>
    [String(at + 1), ...answerCells(answer)].slice(from, to),
  );
  const columns = ANSWER_COLUMNS.slice(from, to);
  output.write(`${renderTable(columns, rows, output).join("\n")}\n\n`);
  const unseen = passed ? answers.find(({ answeredBy }) => answeredBy === "unknown") : undefined;
  const sentence = unseen
    ? `${unseen.status}${byWhom("unknown")}`
    : sentenceOn(isExperiment, answers, passed);
  output.write(`${resultLine(output, unseen ? "unseen" : passed, sentence)}\n`);
  const hasOtherSecret =
    !isExperiment && answers.some(({ outcome }) => outcome === "signature_mismatch");
  const refusal = hasOtherSecret
    ? "The endpoint has another secret than this command: compare the two."
    : answers.map(({ outcome }) => adviceOn(outcome)).find(Boolean);
  const advice = unseen ? LOOK : passed ? undefined : refusal;
  if (advice !== undefined) {
    output.write(`${hanging("  ", advice, textWidth(output)).join("\n")}\n`);
  }
}

/** The columns of an answer. */
const ANSWER_COLUMNS = [
  { title: "Request", align: "right" },
  { title: "Status", align: "right" },
  { title: "Outcome", isFlexible: true },
  { title: "ms", align: "right" },
  { title: "The gateway" },
] as const;

/** The cells of an answer. */
function answerCells({ status, outcome, error, ms }: Exchange): readonly Cell[] {
  const { text, format } = READINGS[readingOf(status)];
  return [
    { text: status === undefined ? "–" : String(status), format },
    error ?? outcome ?? "–",
    ms.toFixed(1),
    { text, format },
  ];
}

/** The outcome of a receiver of this library that acknowledged a delivery, and did nothing for want of a handler. */
export const DROPPED = "unhandled";
/** What that means. */
export const DROPPED_SENTENCE =
  "acknowledged and dropped: the receiver has no handler for it, so an alarm like this would be lost";

/** What a 2xx of a page means. */
export const PAGE_SENTENCE = `acknowledged${byWhom("page")}: the gateway takes an alarm like this as received, and it is lost`;
/** What to do after a 2xx that someone gave. */
export const LOOK =
  "The answer names no outcome of this library: look whether your handler has run.";

function sentenceOn(isExperiment: boolean, answers: readonly Exchange[], passed: boolean): string {
  const hasNoAnswer = answers.some(({ status }) => status === undefined);
  if (isExperiment) {
    if (passed) return "refused, as it must be";
    return hasNoAnswer ? "no answer came" : "acknowledged, although it must be refused";
  }
  if (passed) return "acknowledged";
  if (answers.some(({ outcome }) => outcome === DROPPED)) return DROPPED_SENTENCE;
  if (answers.some(({ answeredBy }) => answeredBy === "page")) return PAGE_SENTENCE;
  if (answers.some(({ status }) => readingOf(status) === "final")) {
    return "an alarm like this would be lost for good: this status stops the gateway's retries";
  }
  if (answers.some(({ status }) => readingOf(status) === "unlisted")) {
    return "the gateway's contract does not mention this status: it may give an alarm like this up";
  }
  return hasNoAnswer ? "no answer came" : "not acknowledged";
}
