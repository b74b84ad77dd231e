import type { WebhookFinding } from "../../src/management/webhook-findings.js";
import { labelled, textWidth, wrap } from "../terminal/wrap.js";
import { resultLine, type Output, type Mark } from "../terminal/command-io.js";
import { joined, printableLine } from "../terminal/printable.js";

const INDENT = "  ";

/** To the second, as a person reads it. */
export function utc(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`;
}

/** What was answered. */
export function answerText(status: number | undefined): string {
  return status === undefined ? "no answer" : `status ${status}`;
}

const LABEL = 12;

/** Writes labelled texts, wrapped to the width of the terminal. */
export function writeRows(
  output: Output,
  rows: readonly (readonly [label: string, text: string])[],
): void {
  const width = Math.max(textWidth(output, 80), INDENT.length + LABEL + 30);
  for (const [label, text] of rows) {
    const head = [INDENT, label.padEnd(LABEL), "dim"] as const;
    const lines = labelled(output, head, printableLine(text, 1_000), width);
    output.write(`${lines.join("\n")}\n`);
  }
}

/** Writes a warning in yellow, wrapped to the width of the terminal. */
export function writeWarning(output: Output, sentence: string): void {
  const width = textWidth(output, 80) - 2 * INDENT.length;
  for (const line of wrap(sentence, width)) {
    output.write(`${INDENT.repeat(2)}${output.style("yellow", line)}\n`);
  }
}

/** Writes a result with its mark in front, wrapped to the width of the terminal. */
export function writeResult(output: Output, passed: Mark, sentence: string): void {
  const width = textWidth(output, 80) - INDENT.length;
  const [first = "", ...rest] = wrap(printableLine(sentence, 2_000), width);
  output.write(`${resultLine(output, passed, first)}\n`);
  for (const line of rest) output.write(`${INDENT}${line}\n`);
}

/** Writes what is wrong, then its consequence and its fix, once for all findings of a kind, and an empty line. */
export function writeFindings(output: Output, findings: readonly WebhookFinding[]): void {
  for (const first of findings) {
    const { code, consequence, fix } = first;
    const alike = findings.filter((one) => one.code === code);
    if (alike[0] !== first) continue;
    const rows = alike.map((one) => ["finding", joined(factsOf(one))] as const);
    writeRows(output, [...rows, ["consequence", consequence], ["fix", fix]]);
    output.write("\n");
  }
}

function factsOf(one: WebhookFinding) {
  const { code, type, webhookId, since } = one;
  const status = "status" in one && answerText(one.status);
  return [code, type, webhookId && `webhook ${webhookId}`, status, since && `since ${utc(since)}`];
}
