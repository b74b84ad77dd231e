import { whereToRead } from "../../src/common/pages.js";
import type { ConformanceCaseReport } from "../../kit/conformance/run-conformance.js";
import { outcomeOf } from "../../kit/sending/wire.js";
import { resultLine, type Output } from "../terminal/command-io.js";
import { printableLine } from "../terminal/printable.js";
import { hanging, textWidth } from "../terminal/wrap.js";
import type { CauseGroup } from "./causes.js";
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

/** Shows what to change, the most important first. Failed cases with one cause are one line. */
export function describeCauses(output: Output, causes: readonly CauseGroup[]): void {
  if (causes.length === 0) return;
  const { style } = output;
  const lines = causes.flatMap(({ change, ends }, at) => {
    const head = `${at + 1}. `.padStart(5);
    const text = `${printableLine(change, 400)} (${countedCases(ends.length)})`;
    const ids = ends.map(({ id }) => id).join(", ");
    return [
      ...hanging(head, text, textWidth(output)),
      ...hanging(" ".repeat(head.length), ids, textWidth(output)).map((line) => style("dim", line)),
    ];
  });
  output.write(`${style("bold", "Change first")}\n${lines.join("\n")}\n\n`);
}

/** Genuine deliveries that a receiver of this library acknowledged without a handler. */
interface Dropped {
  /** X-Webhook-Type. */
  readonly type: string;
  readonly count: number;
}

/**
 * The deliveries that were answered `unhandled`, by type. The receiver logs it and answers 200: each such
 * record is gone, but no rule of the gateway is broken.
 */
export function droppedIn(ends: readonly ConformanceCaseReport[]): readonly Dropped[] {
  const counts = new Map<string, number>();
  for (const { sent, received } of ends.flatMap(({ exchanges }) => exchanges)) {
    if ("error" in received || outcomeOf(received.body) !== "unhandled") continue;
    const [, type = ""] =
      sent.headers.find(([name]) => name.toLowerCase() === "x-webhook-type") ?? [];
    counts.set(type, (counts.get(type) ?? 0) + 1);
  }
  return Array.from(counts, ([type, count]) => ({ type, count }));
}

/** Shows which deliveries a receiver of this library acknowledged and dropped. */
export function describeDropped(output: Output, dropped: readonly Dropped[]): void {
  if (dropped.length === 0) return;
  const { style } = output;
  const lines = dropped.flatMap(({ type, count }) => {
    const what = `${count === 1 ? "1 delivery" : `${count} deliveries`} of ${printableLine(type, 60)}`;
    const text = `${what} answered 200 and dropped: the receiver has no handler for them (unhandled). Add a handler, or leave the type out with --type.`;
    const [first = "", ...rest] = hanging("    ", text, textWidth(output));
    return [`  ${style("yellow", "!")} ${first.trimStart()}`, ...rest];
  });
  output.write(`${style("bold", "dropped")}\n${lines.join("\n")}\n\n`);
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
    ...(count("failed", "must") > 0 ? [`${count("failed", "must")} failed that must pass`] : []),
    ...(count("failed", "should") > 0 ? [`${count("failed", "should")} failed that should`] : []),
    ...(count("not_judged") > 0 ? [`${count("not_judged")} not judged`] : []),
    ...(notRun > 0 ? [`cut off before ${countedCases(notRun)} had ended`] : []),
  ];
  output.write(`${resultLine(output, passed, parts.join(", "))}\n`);
}

/** Shows what the run did not prove. `trusting` counts passed cases that trust an answer. */
export function describeUnproven(
  output: Output,
  unproven: readonly Unproven[],
  trusting: number,
): void {
  const items = unproven.map(({ what, cases, proveBy }) => ({
    text: `${printableLine(what, 400)}${cases.length === 0 ? "" : ` (${countedCases(cases.length)})`}`,
    todo: proveBy,
  }));
  if (trusting > 0) {
    items.unshift({
      text: `that your endpoint did what it answered: ${countedCases(trusting)} passed by the answer alone`,
      todo: "pass --handled <url>",
    });
  }
  describeItems(output, "not proven:", items);
}

/** Shows what stays behind of a run in which the endpoint acknowledged something, and how to remove it. */
export function describeLeftBehind(output: Output, ends: readonly ConformanceCaseReport[]): void {
  const isLeft = ends
    .flatMap(({ exchanges }) => exchanges)
    .some(
      ({ received }) => "status" in received && received.status >= 200 && received.status < 300,
    );
  if (!isLeft) return;
  describeItems(output, "left behind:", [
    {
      text: "what your handlers wrote: every delivery id of this run begins with 7e57da7a-",
      todo: `remove it by this prefix: ${whereToRead("clean-up")}`,
    },
    {
      text: "in an inbox, jobs with records that no document describes: each is tried for up to four days, then it is dead",
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

function countedCases(count: number): string {
  return count === 1 ? "1 case" : `${count} cases`;
}
