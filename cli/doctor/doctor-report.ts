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

/** Shows how each case ended, group by group. */
export function describeCases(output: Output, ends: readonly ConformanceCaseReport[]): void {
  for (const group of CONFORMANCE_GROUPS) {
    const those = ends.filter((end) => end.group === group);
    if (those.length === 0) continue;
    output.write(`${output.style("bold", group)}\n`);
    let said: string | undefined;
    for (const end of those) {
      // One cause may leave a whole group unjudged: its first case says it.
      const isSaid = end.result === "not_judged" && end.reason === said;
      output.write(`${linesOf(output, end, isSaid).join("\n")}\n`);
      if (end.result === "not_judged") said = end.reason;
    }
    output.write("\n");
  }
}

/** Shows which retries the endpoint would refuse if they repeated the first timestamp. */
export function describeRepeatedTimestamp(
  output: Output,
  { finding, note }: RepeatedTimestamp,
): void {
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

function linesOf(output: Output, end: ConformanceCaseReport, isSaid: boolean): readonly string[] {
  const { result, reason, title, level, id, why, fix } = end;
  const { style } = output;
  const said = (label: string): readonly string[] =>
    reason === undefined || isSaid ? [] : row(output, label, reason);
  switch (result) {
    case "passed":
      return [`  ${style("green", "✓")} ${title}`, ...said("note")];
    case "not_judged":
      return [`  ${style("dim", "–")} ${title}`, ...said("unjudged")];
    case "failed":
      return [
        `  ${style(level === "must" ? "red" : "yellow", `✗ ${title}`)} ${style("dim", `(${level}, ${id})`)}`,
        ...end.exchanges
          .slice(-MAX_EXCHANGES)
          .flatMap((exchange) => [
            ...row(output, "sent", sentLine(exchange)),
            ...row(output, "received", receivedLine(exchange)),
          ]),
        ...said("result"),
        ...row(output, "why", why),
        ...row(output, "fix", fix),
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
