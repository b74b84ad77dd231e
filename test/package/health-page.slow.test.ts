import { expect, test } from "vitest";
import { healthTable } from "../../docs/health-table.js";
import { createWebhookReceiver } from "../../src/index.js";
import { HEALTH_REASONS } from "../../src/telemetry/health-reasons.js";
import { readMarkdown, sectionOf } from "../support/package/markdown.js";

const HEALTH = sectionOf(readMarkdown("docs/monitoring.md"), "## Health");

/** The cells of a Markdown table, without the spaces that align it. */
const cellsOf = (table: string): string[][] =>
  table.split("\n").map((line) => line.split("|").map((cell) => cell.trim()));

test("docs/monitoring.md has the table of docs/health-table.ts, made from the table of reasons", () => {
  const [, , ...expected] = cellsOf(healthTable().replaceAll("`", ""));
  const written = HEALTH.table("reason");
  expect(written).toEqual(expected.map((cells) => cells.slice(1, -1)));
  expect(written.map(([code]) => code)).toEqual(Object.keys(HEALTH_REASONS));
});

test("the health object on docs/monitoring.md has the members of a real one", () => {
  // docs-snippets.slow.test.ts compiles them.
  expect(HEALTH.snippets("ts").length).toBeGreaterThanOrEqual(2);
  const [shown = ""] = HEALTH.snippets("json");
  const example = JSON.parse(shown) as Record<string, object>;
  const options = { secret: "whsec_test_0123456789abcdef", handlers: { new_alarm: () => 1 } };
  const real = createWebhookReceiver(options).health() as unknown as Record<string, object>;
  expect(Object.keys(example)).toEqual(Object.keys(real));
  for (const member of ["ratios", "store", "lastAcknowledgedAt"]) {
    expect(Object.keys(example[member] ?? {})).toEqual(Object.keys(real[member] ?? {}));
  }
  const { code, advice } = (example["reasons"] as never)[0] as { code: "stale"; advice: string };
  expect(advice).toBe(HEALTH_REASONS[code].advice);
});
