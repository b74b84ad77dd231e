import { describe, expect, test } from "vitest";
import { monitoringPage } from "../../docs/monitoring-page.js";
import { OPTION_NAMES } from "../../src/telemetry/opentelemetry/open-telemetry.js";
import { readMarkdown } from "../support/package/markdown.js";
import { partnerProject } from "../support/package/partner-project.js";

const PAGE = readMarkdown("docs/monitoring.md");

test("docs/monitoring.md has the tables of today's metrics and attributes; npm run generate writes them", () => {
  expect(PAGE.text).toBe(monitoringPage(PAGE.text));
});

test("docs/monitoring.md has every option of openTelemetry", () => {
  const named = PAGE.table("option").flatMap(([name = ""]) => name.split(", "));
  expect(named.sort()).toEqual([...OPTION_NAMES].sort());
});

describe("the snippets of docs/monitoring.md", () => {
  const partner = partnerProject("@opentelemetry/api");

  test("the snippets of docs/monitoring.md compile against the installed package", () => {
    expect(partner().compile(PAGE.snippets("ts"))).toBe("");
  });
});
