import { styleText } from "node:util";
import { isAsExpected, type Miscount, type Row } from "./ledger.js";
import { countDifferences, type Result } from "./scenario.js";

/** Column widths. With the mark and the gaps a line is 100 characters long. */
const WIDTHS = { delivery: 34, done: 26, status: 6, outcome: 18, ms: 6 };
const GAP = "  ";

/** The result as a table, in colour where standard output shows it. */
export function renderTable({ sections, miscounts }: Result): string {
  const head = cells("Delivery", "What was done", "Status", "Outcome", "ms");
  const lines = [styleText("dim", `${GAP}${head.join(GAP)}`)];
  for (const { title, rows } of sections) {
    lines.push("", styleText("bold", title), ...rows.map(renderRow));
  }
  if (miscounts.length > 0) lines.push("", ...miscounts.map(renderMiscount));
  return lines.join("\n");
}

/** One sentence on the whole. */
export function renderSummary(result: Result, ms: number): string {
  const rows = result.sections.flatMap((section) => section.rows);
  const seconds = (ms / 1000).toFixed(1);
  const differences = countDifferences(result);
  if (differences > 0) {
    const text = `${differences} differences from what is expected, in ${rows.length} deliveries.`;
    return styleText("bold", styleText("red", text));
  }
  const handled = rows.filter(({ actual }) => actual.outcome === "handled").length;
  const text =
    `${rows.length} deliveries in ${seconds} s, each answered as expected: ` +
    `${handled} handled once, and nothing else got in.`;
  return styleText("bold", styleText("green", text));
}

function renderRow(row: Row): string {
  const { delivery, done, expected, actual } = row;
  const { status, outcome, ms } = actual;
  const colour = status < 300 ? "green" : "yellow";
  const [first, second, third, fourth, last] = cells(
    delivery,
    done,
    String(status),
    outcome,
    ms.toFixed(1),
  );
  const text = [
    `${isAsExpected(row) ? styleText("green", "✓") : styleText("red", "✗")} ${first}`,
    styleText("dim", second),
    styleText(colour, third),
    styleText(colour, fourth),
    styleText("dim", last),
  ].join(GAP);
  if (isAsExpected(row)) return text;
  return `${text}\n${styleText("red", `${GAP}expected ${expected.status} ${expected.outcome}`)}`;
}

function renderMiscount({ delivery, expected, actual }: Miscount): string {
  return styleText(
    "red",
    `✗ ${delivery}: the handler ran ${times(actual)} instead of ${times(expected)}`,
  );
}

function times(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}

type Cells = [delivery: string, done: string, status: string, outcome: string, ms: string];

function cells(...[delivery, done, status, outcome, ms]: Cells): Cells {
  return [
    fit(delivery, WIDTHS.delivery),
    fit(done, WIDTHS.done),
    fit(status, WIDTHS.status),
    fit(outcome, WIDTHS.outcome),
    ms.padStart(WIDTHS.ms),
  ];
}

function fit(text: string, width: number): string {
  return text.length > width ? `${text.slice(0, width - 1)}…` : text.padEnd(width);
}
