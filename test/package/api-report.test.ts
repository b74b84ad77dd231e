import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { ownReports, undocumentedExports } from "../../api/report-text.js";
import { REPOSITORY } from "../support/package/installed-package.js";

/** A report as API Extractor prints it. */
function extracted(...code: readonly string[]): string {
  const footer = "// (No @packageDocumentation comment for this package)";
  return `## API Report File for "x"\n\n> Do not edit.\n\n\`\`\`ts\n\n${[...code, footer].join("\n\n")}\n\n\`\`\`\n`;
}

const RECEIVER = "// @public\ninterface Receiver {\n    drain(): void;\n}";
const EXPORTED_RECEIVER = RECEIVER.replace("interface", "export interface");
const SHARED_OPTIONS = "// @public\ninterface BodyOptions {\n    timeoutMs: number;\n}";

function reportsOf(entries: Record<string, string>): Record<string, string> {
  return Object.fromEntries(ownReports(new Map(Object.entries(entries))));
}

test("an API report leaves out a declaration that another entry exports", () => {
  const handler = "// @public\nexport function handle(receiver: Receiver): void;";
  const express = extracted(handler, RECEIVER);
  const reports = reportsOf({ index: extracted(EXPORTED_RECEIVER), express });
  expect(reports["index"]).toContain(EXPORTED_RECEIVER);
  expect(reports["express"]).toContain(handler);
  expect(reports["express"]).not.toContain("interface Receiver");
});

test("an API report shows a type that no entry exports, so that a change of it is visible", () => {
  const shared = extracted(SHARED_OPTIONS);
  const reports = reportsOf({ index: extracted(EXPORTED_RECEIVER), express: shared, hono: shared });
  expect(reports["express"]).toContain(SHARED_OPTIONS);
  expect(reports["hono"]).toContain(SHARED_OPTIONS);
});

test("an API report shows an unexported type that only shares its name with an export of another entry", () => {
  const other = "// @public\ninterface Receiver {\n    read(): void;\n}";
  const reports = reportsOf({ index: extracted(EXPORTED_RECEIVER), redis: extracted(other) });
  expect(reports["redis"]).toContain(other);
});

test("an API report keeps the imports that its declarations need, and drops the others", () => {
  const imports = "import { A } from 'a';\nimport * as b from 'b';\nimport { C } from 'c';";
  const code = "// @public\nexport function f(a: A): b.B;";
  const { index } = reportsOf({ index: extracted(imports, code) });
  expect(index).toContain("import { A } from 'a';\nimport * as b from 'b';\n\n");
  expect(index).not.toContain("'c'");
});

test("the check for docstrings names each export and each overload without one, but no field", () => {
  const { index = "" } = reportsOf({
    index: extracted(
      "// @public (undocumented)\nexport function f(a: string): void;",
      "// @public\nexport function f(a: number): void;",
      "// @public\nexport interface Fields {\n    // (undocumented)\n    a: string;\n}",
      "// @public (undocumented)\ninterface Hidden {\n}",
    ),
  });
  expect(undocumentedExports(index)).toEqual(["function f(a: string): void;"]);
});

test("an API report with an unknown layout is refused", () => {
  expect(() => reportsOf({ index: "# Another tool's report" })).toThrow(/unknown layout/);
});

/** The exports that the report of an entry shows, each once, and those of them that are experimental. */
function exportsOf(report: string): { all: Set<string>; experimental: Set<string> } {
  const text = readFileSync(path.join(REPOSITORY, "api", report), "utf8");
  const found = [...text.matchAll(/^\/\/ @public(.*)\nexport (?:abstract )?\w+ (\w+)/gm)];
  const marked = found.filter(([, marks]) => marks?.includes("@experimental") === true);
  const namesOf = (matches: typeof found): Set<string> =>
    new Set(matches.map(([, , name = ""]) => name));
  return { all: namesOf(found), experimental: namesOf(marked) };
}

test("all entries together have at most 300 public names", () => {
  const files = readdirSync(path.join(REPOSITORY, "api"));
  const reports = files.filter((file) => file.endsWith(".api.md"));
  const names = new Set(reports.flatMap((report) => [...exportsOf(report).all]));
  expect(names.size).toBeGreaterThan(150);
  expect(names.size).toBeLessThanOrEqual(300);
});

test("every export of /management is experimental", () => {
  const { all, experimental } = exportsOf("management.api.md");
  expect(all.size).toBeGreaterThan(0);
  expect(experimental).toEqual(all);
});

test("every export of /testing is experimental but the dozen that docs/test-handlers.md lists as stable", () => {
  const { all, experimental } = exportsOf("testing.api.md");
  const stable = [...all].filter((name) => !experimental.has(name));
  expect(stable).toHaveLength(12);
  const page = readFileSync(path.join(REPOSITORY, "docs", "test-handlers.md"), "utf8");
  const [line = ""] = /^.*these functions are stable.*$/m.exec(page) ?? [];
  expect(line.match(/(?<=`)\w+(?=`)/g)?.toSorted()).toEqual(stable.toSorted());
});
