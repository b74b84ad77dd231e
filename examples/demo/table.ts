import { styleText } from "node:util";
import type { Miscount } from "./ledger.js";
import type { Row, Section } from "./row.js";

/** The result of the demo. */
export interface Result {
  /** The URL that the gateway delivered to. */
  readonly headline: string;
  readonly sections: readonly Section[];
  readonly miscounts: readonly Miscount[];
  readonly ms: number;
  /** A remark below the table. */
  readonly remark?: string;
}

const COLUMNS = ["Delivery", "What was done", "Status", "Outcome", "    ms"];
/** Together with the mark and the gaps, a line has 100 characters. */
const WIDTHS = [34, 26, 6, 18, 6];
const GAP = "  ";

const MARKS = {
  as_expected: styleText("green", "✓"),
  different: styleText("red", "✗"),
  not_judged: styleText("dim", "–"),
};

/** How many answers and run counts differ from the expected ones. */
export function countDifferences({ sections, miscounts }: Result): number {
  const rows = sections.flatMap((section) => section.rows);
  return rows.filter(({ result }) => result === "different").length + miscounts.length;
}

/** The result as a table, with colours if standard output shows them. */
export function renderTable({ sections, miscounts }: Result): string {
  const lines = [styleText("dim", `${GAP}${renderCells(COLUMNS)}`)];
  for (const { title, rows, lost = [] } of sections) {
    lines.push("", styleText("bold", title), ...rows.map(renderRow));
    const [first] = lost;
    if (first) lines.push(styleText("yellow", `${GAP}${lost.length} lost: ${first.reason}`));
  }
  if (miscounts.length > 0) lines.push("", ...new Set(miscounts.map(renderMiscount)));
  return lines.join("\n");
}

/** The summary in one sentence. */
export function renderSummary(result: Result): string {
  const rows = result.sections.flatMap((section) => section.rows);
  const countWhere = (test: (row: Row) => boolean): number =>
    rows.filter(test).reduce((sum, { requests }) => sum + requests, 0);
  const requests = countWhere(() => true);
  const differences = countDifferences(result);
  if (differences > 0) {
    const text = `${differences} differences from what is expected, in ${requests} requests.`;
    return styleText("bold", styleText("red", text));
  }
  const unjudged = countWhere(({ result }) => result === "not_judged");
  const handled = countWhere(({ outcome }) => outcome === "handled");
  const lost = result.sections.flatMap((section) => section.lost ?? []).length;
  const text =
    `${requests} requests in ${(result.ms / 1000).toFixed(1)} s, ` +
    `${unjudged === 0 ? "each" : `${unjudged} not judged, the others`} answered as expected: ` +
    `${handled} handled once, ${lost} lost, nothing else got in.`;
  return styleText("bold", styleText("green", text));
}

function renderRow({ note, ...row }: Row): string {
  const line = renderAnswer(row);
  return note === undefined ? line : `${line}\n${GAP}${note}`;
}

function renderAnswer({ delivery, done, expected, status, outcome, result, ms }: Row): string {
  const colour = status !== undefined && status < 300 ? "green" : "yellow";
  const answer = status === undefined ? ["–", "no answer"] : [String(status), outcome ?? "–"];
  const cells = [delivery, done, ...answer, ms.toFixed(1).padStart(6)];
  const text = `${MARKS[result]} ${renderCells(cells, [undefined, "dim", colour, colour, "dim"])}`;
  if (result !== "different") return text;
  const wanted = `${expected?.status ?? "no answer"} ${expected?.outcome ?? ""}`.trimEnd();
  return `${text}\n${styleText("red", `${GAP}expected ${wanted}`)}`;
}

function renderMiscount({ delivery, expected, actual }: Miscount): string {
  const text = `✗ ${delivery}: the handler ran ${times(actual)} instead of ${times(expected)}`;
  return styleText("red", text);
}

function times(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}

type Format = Parameters<typeof styleText>[0];

function renderCells(
  cells: readonly string[],
  formats: readonly (Format | undefined)[] = [],
): string {
  return WIDTHS.map((width, at) => {
    const text = fit(cells[at] ?? "", width);
    const format = formats[at];
    return format === undefined ? text : styleText(format, text);
  }).join(GAP);
}

function fit(text: string, width: number): string {
  return text.length > width ? `${text.slice(0, width - 1)}…` : text.padEnd(width);
}
