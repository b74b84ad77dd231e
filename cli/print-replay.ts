import { WEBHOOK_TYPES } from "../src/common/gateway-facts.js";
import { whereToRead } from "../src/common/pages.js";
import type { WebhookType } from "../src/delivery/headers.js";
import type { Fixture } from "../kit/fixtures/fixture.js";
import { webhookTypeOf, type ReplayResult } from "../kit/fixtures/replay-report.js";
import { byWhom } from "../kit/sending/answered-by.js";
import { otherSecret } from "./options/secret-source.js";
import { resultLine, type Output } from "./terminal/command-io.js";
import { hanging, textWidth } from "./terminal/wrap.js";
import { READINGS, readingOf } from "./send/exchange.js";
import { joined, printableLine } from "./terminal/printable.js";
import { renderTable, type Cell } from "./terminal/table.js";
import { shownUrl } from "./options/target-url.js";

const COLUMNS = [
  { title: "" },
  { title: "Fixture", isFlexible: true },
  { title: "Status", align: "right" },
  { title: "Outcome" },
  { title: "Expected" },
  { title: "ms", align: "right" },
] as const;

const MARKS = {
  as_expected: { text: "✓", format: "green" },
  different: { text: "✗", format: "red" },
  not_judged: { text: "–", format: "dim" },
  unseen: { text: "~", format: "yellow" },
} as const;

/** What to do about a difference, by the outcome of the answer. */
const REMEDIES: Readonly<Record<string, () => string>> = {
  unhandled: () => "add one, or send only the other type with --type",
  duplicate: () => "leave out --same-ids",
  signature_mismatch: () => "pass the endpoint's secret",
  handler_failed: () => `if a table refused the fixture: ${whereToRead("made-up")}`,
  stale: () => "leave out --as-recorded, and compare the clocks",
};

/** Shows a line for each fixture that was sent, and a summary. */
export function describeReplay(
  output: Output,
  url: URL,
  results: readonly ReplayResult[],
  fixtures: readonly Fixture[],
): void {
  if (results.length === 0) return;
  const { write, style } = output;
  const total = fixtures.length;
  write(`${style("bold", `${total} fixtures to ${shownUrl(url)}`)}\n\n`);
  write(`${renderTable(COLUMNS, results.map(cellsOf), output).join("\n")}\n\n`);
  const why = secretLine(results, fixtures);
  const reasons =
    why === undefined ? reasonLines(output, results) : hanging("      ", why, textWidth(output));
  if (reasons.length > 0) write(`${reasons.join("\n")}\n\n`);
  write(`${summaryOf(output, results, total)}\n`);
}

function cellsOf(one: ReplayResult) {
  const { name, status, outcome, error, expected, result, ms } = one;
  const wanted = expected && [expected.status, expected.outcome].join(" ").trimEnd();
  return [
    MARKS[isUnseen(one) ? "unseen" : result],
    printableLine(name),
    {
      text: status === undefined ? "–" : String(status),
      format: READINGS[readingOf(status)].format,
    },
    error === undefined ? (outcome ?? "–") : { text: "no answer", format: "red" },
    { text: wanted ?? "–", format: result === "different" ? "red" : undefined },
    ms.toFixed(1),
  ] satisfies readonly Cell[];
}

/** Whether a 2xx is as the fixture expects, but nothing shows who gave it. */
function isUnseen({ result, answeredBy }: ReplayResult): boolean {
  return result === "as_expected" && answeredBy === "unknown";
}

/** Why the genuine fixtures of one type are all handled, and those of the other all have a wrong signature. */
function secretLine(results: readonly ReplayResult[], fixtures: readonly Fixture[]) {
  const typeWhere = (is: (one: ReplayResult) => boolean): WebhookType | undefined =>
    WEBHOOK_TYPES.find((type) => {
      const genuine = results.filter(
        ({ expected }, at) =>
          expected?.status === 200 && webhookTypeOf(fixtures[at] ?? { headers: {} }) === type,
      );
      return genuine.length > 0 && genuine.every(is);
    });
  const accepted = typeWhere(({ result }) => result === "as_expected");
  const refused = typeWhere(({ outcome }) => outcome === "signature_mismatch");
  if (accepted === undefined || refused === undefined) return undefined;
  const { message, fix } = otherSecret(accepted, refused, "409 signature_mismatch");
  return `${message}. ${fix}`;
}

/** Each reason once, with how many fixtures it explains and what to do. */
function reasonLines(output: Output, results: readonly ReplayResult[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { reason, outcome = "" } of results) {
    if (reason === undefined) continue;
    const remedy = REMEDIES[outcome]?.();
    const text = remedy === undefined ? reason : `${reason}: ${remedy}`;
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return [...counts].flatMap(([text, count]) =>
    hanging(`${String(count).padStart(4)}  `, printableLine(text, 400), textWidth(output)),
  );
}

/** Whether each answer is as its fixture expects, and at least one fixture expects something. */
export function isProven(results: readonly ReplayResult[]): boolean {
  return (
    results.some(({ result }) => result === "as_expected") &&
    results.every(({ result, error }) => result !== "different" && error === undefined)
  );
}

function summaryOf(output: Output, results: readonly ReplayResult[], total: number): string {
  const count = (wanted: ReplayResult["result"]): number =>
    results.filter(({ result }) => result === wanted).length;
  const errors = results.flatMap(({ error }) => (error === undefined ? [] : [error]));
  const [error] = errors;
  const different = count("different");
  const missing = total - results.length;
  const unseen = results.filter(isUnseen).length;
  const parts = [
    `${count("as_expected")} as expected`,
    unseen > 0 && `${unseen} of them answered 2xx${byWhom("unknown")}`,
    different > 0 && `${different} different`,
    count("not_judged") > 0 && `${count("not_judged")} not judged`,
    error !== undefined && `${errors.length} without an answer (${printableLine(error)})`,
    missing > 0 && `${missing} not sent`,
    count("not_judged") === total && "so nothing was proven",
  ];
  const passed = isProven(results) && missing === 0;
  return resultLine(output, passed && unseen > 0 ? "unseen" : passed, joined(parts));
}
