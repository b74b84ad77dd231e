import {
  CONFORMANCE_GROUPS,
  type ConformanceExchange,
} from "../../kit/conformance/conformance-case.js";
import type { ConformanceCaseReport } from "../../kit/conformance/run-conformance.js";
import type { Output } from "../terminal/command-io.js";
import { labelled, textWidth } from "../terminal/wrap.js";
import { printableLine } from "../terminal/printable.js";
import type { RepeatedTimestamp } from "./repeated-timestamp.js";

const INDENT = " ".repeat(6);
const LABEL = 10;
/** Shows only the end of a long exchange, where the failure is. */
const MAX_EXCHANGES = 4;
/** A text of no more characters is repeated: a reference to it is no shorter. */
const SHORT = 40;

/** Shows how each case ended, group by group. A reason is said once, where it comes first. */
export function describeCases(output: Output, ends: readonly ConformanceCaseReport[]): void {
  const said = new Map<string, string>();
  for (const group of CONFORMANCE_GROUPS) {
    const those = ends.filter((end) => end.group === group);
    if (those.length === 0) continue;
    output.write(`${output.style("bold", group)}\n`);
    for (const end of those) output.write(`${linesOf(output, end, said).join("\n")}\n`);
    output.write("\n");
  }
}

/** Shows which retries the endpoint would refuse if they repeated the first timestamp. */
export function describeRepeatedTimestamp(output: Output, { finding, note }: RepeatedTimestamp) {
  const { style } = output;
  const lines = [
    style("bold", "if the gateway repeats its first timestamp"),
    `  ${style("dim", "–")} ${finding}`,
    ...row(output, "note", note),
  ];
  output.write(`${lines.join("\n")}\n\n`);
}

/** A request in one line. The signature is shortened, since it stays valid for a while. */
export function sentLine({ sent }: ConformanceExchange): string {
  const headers = sent.headers.map(([name, value]) => {
    const shown = /signature/i.test(name) ? shortened(value) : value;
    return `${name}: ${printableLine(shown, 60)}`;
  });
  return [sent.method, ...headers, `${sent.bytes} bytes`].join("; ");
}

/** The answer in one line. */
export function receivedLine({ received }: ConformanceExchange): string {
  if ("error" in received) return printableLine(received.error);
  const { status, body, ms } = received;
  return `${status} ${printableLine(body, 160)} (${ms.toFixed(1)} ms)`;
}

/** `said`: the texts so far, each with the case that it stands at. */
function linesOf(output: Output, end: ConformanceCaseReport, said: Map<string, string>) {
  const { result, reason, need, title, level, id, why, fix } = end;
  const { style } = output;
  const once = (label: string, text = ""): readonly string[] => {
    const first = said.get(text);
    if (text === "" || (first !== undefined && result !== "failed")) return [];
    if (first === undefined && text.length > SHORT) said.set(text, id);
    return row(output, label, first === undefined ? text : `as for ${first}`);
  };
  switch (result) {
    case "passed":
      // A tick is for what was seen. An answer alone proves nothing of what happened behind it.
      return [
        `  ${need === "handled" ? style("yellow", "~") : style("green", "✓")} ${title}`,
        ...once("note", reason),
      ];
    case "not_judged":
      return [`  ${style("dim", "–")} ${title}`, ...once("unjudged", reason)];
    case "failed":
      return [
        `  ${style(level === "must" ? "red" : "yellow", `✗ ${title}`)} ${style("dim", `(${level}, ${id})`)}`,
        ...end.exchanges
          .slice(-MAX_EXCHANGES)
          .flatMap((exchange) => [
            ...row(output, "sent", sentLine(exchange)),
            ...row(output, "received", receivedLine(exchange)),
          ]),
        ...once("result", reason),
        ...once("why", why),
        ...once("fix", fix),
      ];
  }
}

function row(output: Output, label: string, text: string): readonly string[] {
  const width = Math.max(textWidth(output), INDENT.length + LABEL + 30);
  const head = [INDENT, label.padEnd(LABEL), "dim"] as const;
  return labelled(output, head, printableLine(text, 1_000), width);
}

function shortened(signature: string): string {
  return signature.length > 12 ? `${signature.slice(0, 8)}…` : signature;
}
