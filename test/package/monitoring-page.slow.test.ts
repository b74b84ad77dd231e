import { expect, test } from "vitest";
import { monitoringPage } from "../../docs/monitoring-page.js";
import { OPTION_NAMES } from "../../src/telemetry/opentelemetry/open-telemetry.js";
import { readMarkdown } from "../support/package/markdown.js";

const PAGE = readMarkdown("docs/monitoring.md");

test("docs/monitoring.md has the tables of today's metrics and attributes; npm run generate writes them", () => {
  expect(PAGE.text).toBe(monitoringPage(PAGE.text));
});

test("docs/monitoring.md has every option of openTelemetry", () => {
  const named = PAGE.table("option").flatMap(([name = ""]) => name.split(", "));
  expect(named.sort()).toEqual([...OPTION_NAMES].sort());
});
