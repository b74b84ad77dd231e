import { whereToRead } from "../../src/common/pages.js";
import { FIRST_CAUSES } from "../../kit/conformance/conformance-rule.js";
import { causeOf } from "../../kit/conformance/receiver-conformance.js";
import { OUTCOMES, type WebhookOutcome } from "../../src/answer/outcome.js";
import { HEADERS } from "../../src/delivery/headers.js";
import type { ConformanceCaseReport } from "../../kit/conformance/run-conformance.js";
import { headerOf, outcomeOf } from "../../kit/sending/wire.js";
import { resultLine, type Output } from "../terminal/command-io.js";
import { counted, joined, printableLine } from "../terminal/printable.js";
import { hanging, textWidth } from "../terminal/wrap.js";
import type { Unproven } from "./not-proven.js";
import type { Obstacle } from "./preflight.js";

/** Shows the one finding about a URL that cannot be tested. `rest`: what was left out for it. */
export function describeObstacle(
  output: Output,
  { message, fix }: Obstacle,
  rest = "Nothing else was tested.",
): void {
  const { style } = output;
  const lines = [
    ...hanging("✗ ", printableLine(message, 1_000), textWidth(output)).map((line) =>
      style("red", line),
    ),
    ...hanging("  ", fix, textWidth(output)),
    style("dim", `  ${rest}`),
  ];
  output.write(`${lines.join("\n")}\n`);
}

/** Failed cases with one cause. */
export interface CauseGroup {
  /** What to change, as a sentence. */
  readonly change: string;
  readonly ends: readonly ConformanceCaseReport[];
}

/** The failed cases by their cause: first what blocks the others, then what must pass, then the most cases. */
export function causesOf(ends: readonly ConformanceCaseReport[]): readonly CauseGroup[] {
  const found = new Map<string, ConformanceCaseReport[]>();
  for (const end of ends.filter(({ result }) => result === "failed")) {
    const change = causeOf(end);
    found.set(change, [...(found.get(change) ?? []), end]);
  }
  const rank = ({ change, ends: own }: CauseGroup): number =>
    (FIRST_CAUSES.includes(change) ? 0 : 2) + (own.some(({ level }) => level === "must") ? 0 : 1);
  return Array.from(found, ([change, own]) => ({ change, ends: own })).sort(
    (one, other) => rank(one) - rank(other) || other.ends.length - one.ends.length,
  );
}

/** Shows what to change, the most important first. Failed cases with one cause are one line. */
export function describeCauses(output: Output, causes: readonly CauseGroup[]): void {
  if (causes.length === 0) return;
  const { style } = output;
  const lines = causes.flatMap(({ change, ends }, at) => {
    const head = `${at + 1}. `.padStart(5);
    const text = `${printableLine(change, 400)} (${counted(ends.length, "case")})`;
    const ids = ends.map(({ id }) => id).join(", ");
    return [
      ...hanging(head, text, textWidth(output)),
      ...hanging(" ".repeat(head.length), ids, textWidth(output)).map((line) => style("dim", line)),
    ];
  });
  output.write(`${style("bold", "Change first")}\n${lines.join("\n")}\n\n`);
}

/**
 * The genuine deliveries that were answered `unhandled`, by X-Webhook-Type. The receiver logs it and answers 200: each
 * such record is gone, but no rule of the gateway is broken.
 */
export function droppedIn(ends: readonly ConformanceCaseReport[]) {
  const counts = new Map<string, number>();
  for (const { sent, received } of ends.flatMap(({ exchanges }) => exchanges)) {
    if ("error" in received || outcomeOf(received.body) !== "unhandled") continue;
    const type = headerOf(sent.headers, HEADERS.type.name) ?? "";
    counts.set(type, (counts.get(type) ?? 0) + 1);
  }
  return Array.from(counts, ([type, count]) => ({ type, count }));
}

/** Shows which deliveries a receiver of this library acknowledged and dropped. */
export function describeDropped(output: Output, dropped: ReturnType<typeof droppedIn>): void {
  const texts = dropped.map(({ type, count }) => {
    const what = `${count === 1 ? "1 delivery" : `${count} deliveries`} of ${printableLine(type, 60)}`;
    return `${what} answered 200 and dropped: the receiver has no handler for them (unhandled). Add a handler, or leave the type out with --type.`;
  });
  describeWarnings(output, "dropped", texts);
}

/** While what lasts the gateway gives up each delivery, if `unverifiable` makes an outcome final. */
export const LOST_WHILE: Readonly<Record<string, string>> = {
  malformed: "something in front drops, renames or repeats a webhook header",
  unsigned: `the webhook has no secret at the gateway, or something in front drops ${HEADERS.signature.name}`,
  signature_mismatch:
    "the secret here is not the gateway's, as during a rotation, or something in front changes the body",
  stale: "a clock is off, or something in front delays requests",
  type_mismatch: `something in front changes ${HEADERS.type.name}`,
  body_too_large:
    "deliveries are larger than maxBodyBytes, if it gives up after 413: its document does not say",
};

/**
 * The outcomes that a receiver of this library answers with a final status, by its option `unverifiable`. `lostWhile`:
 * while what lasts the gateway gives up each delivery. `cases`: those that must pass, and failed with such an answer.
 */
export function madeFinalIn(ends: readonly ConformanceCaseReport[]) {
  return Object.entries(LOST_WHILE).flatMap(([outcome, lostWhile]) => {
    const status = OUTCOMES[outcome as WebhookOutcome].rejectStatus ?? 0;
    const having = ends.filter(({ exchanges }) =>
      exchanges.some(
        ({ received }) =>
          "status" in received &&
          received.status === status &&
          outcomeOf(received.body) === outcome,
      ),
    );
    const failed = having.filter(({ result, level }) => result === "failed" && level === "must");
    const cases = failed.map(({ id }) => id);
    return having.length === 0 ? [] : [{ outcome, status, lostWhile, cases }];
  });
}

/** Shows which outcomes are final by choice, what that loses, and which cases fail for it. */
export function describeMadeFinal(output: Output, made: ReturnType<typeof madeFinalIn>): void {
  const texts = made.map(({ outcome, status, lostWhile, cases }) => {
    const failed = cases.length === 0 ? "" : ` Failed for it: ${cases.join(", ")}.`;
    return `${outcome}, answered ${status} by the option unverifiable: the gateway gives up each delivery while ${lostWhile}.${failed}`;
  });
  describeWarnings(output, "final by choice", texts);
}

/** Shows the records that the handler failed to take twice, by their names. */
export function describeUntaken(output: Output, untaken: readonly string[]): void {
  if (untaken.length === 0) return;
  const texts = untaken.map((name) => `${printableLine(name, 100)}: failed when it was sent again`);
  const [record, it] = untaken.length === 1 ? ["this record", "it"] : ["these records", "them"];
  const result = `Your handler cannot take ${record}: after ten attempts the gateway gives ${it} up. Characters that a database refuses: ${whereToRead("odd-text")}`;
  describeWarnings(output, "cannot be taken", [...texts, result]);
}

/** Shows sentences with a mark before each. Without one it shows nothing. */
export function describeWarnings(output: Output, title: string, texts: readonly string[]): void {
  if (texts.length === 0) return;
  const { style } = output;
  const lines = texts.flatMap((text) => {
    const [first = "", ...rest] = hanging("    ", text, textWidth(output));
    return [`  ${style("yellow", "!")} ${first.trimStart()}`, ...rest];
  });
  output.write(`${style("bold", title)}\n${lines.join("\n")}\n\n`);
}

/** Shows the counts in one sentence. */
export function describeSummary(
  output: Output,
  ends: readonly ConformanceCaseReport[],
  passed: boolean,
  notRun = 0,
): void {
  const count = (result: ConformanceCaseReport["result"], level?: string): number =>
    ends.filter((end) => end.result === result && (level ?? end.level) === end.level).length;
  const parts = [
    `${count("passed")} passed`,
    count("failed", "must") > 0 && `${count("failed", "must")} failed that must pass`,
    count("failed", "should") > 0 && `${count("failed", "should")} failed that should`,
    count("not_judged") > 0 && `${count("not_judged")} not judged`,
    notRun > 0 && `cut off before ${counted(notRun, "case")} had ended`,
  ];
  output.write(`${resultLine(output, passed, joined(parts))}\n`);
}

/** Shows what the run did not prove. `trusting` counts passed cases that trust an answer. */
export function describeUnproven(output: Output, unproven: readonly Unproven[], trusting: number) {
  const items = unproven.map(({ what, cases, proveBy }) => ({
    text: `${printableLine(what, 400)}${cases.length === 0 ? "" : ` (${counted(cases.length, "case")})`}`,
    todo: proveBy,
  }));
  if (trusting > 0) {
    items.unshift({
      text: `that your endpoint did what it answered: ${counted(trusting, "case")} passed by the answer alone`,
      todo: HANDLED,
    });
  }
  describeItems(output, "not proven:", items);
}

const HANDLED = "pass --handled <url>";

/** The last line: what an option would have proven, in words, and the one option that proves most of it. */
export function describeOpen(output: Output, unproven: readonly Unproven[], trusting: number) {
  const open = unproven.filter(({ proveBy, cases }) => proveBy.startsWith("pass ") && cases.length);
  const counts = new Map(trusting === 0 ? [] : [[HANDLED, trusting]]);
  for (const { proveBy, cases } of open) {
    counts.set(proveBy, (counts.get(proveBy) ?? 0) + cases.length);
  }
  const [[most] = []] = Array.from(counts).sort(([, one], [, other]) => other - one);
  if (most === undefined) return;
  const whats = open.map(({ what }) => what);
  const what = whats.join("; ") || "that your endpoint did what it answered";
  const count = [...counts.values()].reduce((sum, one) => sum + one);
  const text = `This run does not prove ${what} (${counted(count, "case")}). To prove most of it, ${most}. With --require-judged a run that leaves a case open exits 1.`;
  output.write(`\n${hanging("", text, textWidth(output)).join("\n")}\n`);
}

/** Shows what stays behind of a run in which the endpoint acknowledged something, and how to remove it. */
export function describeLeftBehind(output: Output, ends: readonly ConformanceCaseReport[]): void {
  const received = ends.flatMap(({ exchanges }) => exchanges.map((one) => one.received));
  const isLeft = received.some((one) => "status" in one && one.status >= 200 && one.status < 300);
  if (!isLeft) return;
  describeItems(output, "left behind:", [
    {
      text: "what your handlers wrote: every delivery id of this run begins with 7e57da7a-",
      todo: `remove it by this prefix: ${whereToRead("clean-up")}`,
    },
    {
      text: "in an inbox, jobs with records that no document describes: each is tried for 45 hours (35 on SQS and Cloudflare Queues), then it is dead",
      todo: "give the worker a handler for unrecognized, or discard the jobs by the same prefix",
    },
  ]);
}

/** Shows a list of facts, each with what to do about it. */
function describeItems(
  output: Output,
  title: string,
  items: readonly { readonly text: string; readonly todo: string }[],
): void {
  const { style } = output;
  const lines = items.flatMap(({ text, todo }) => [
    ...hanging("  – ", text, textWidth(output)),
    ...hanging("    ", `→ ${todo}`, textWidth(output)).map((line) => style("bold", line)),
  ]);
  output.write(`\n${style("yellow", title)}\n${lines.join("\n")}\n`);
}
