import type { PlatformResult } from "./platform.js";
import type { UnitTestResult } from "./unit-tests.js";

/** `test/platforms/results.md`. */
export function platformPage(results: readonly PlatformResult[], date: string): string {
  return `# Platforms

Each platform in this table was started on ${date} and received every case of \`receiverConformance\`: the framework or runtime itself, and for a cloud its runtime, its emulator or its local server, with a small host in front where it has none. \`npm run platforms\` runs them and writes this page. How to mount a receiver on each: [Frameworks, runtimes and hosts](../../docs/frameworks.md).

${platformTable(results)}

- Glue lines: the lines of code in the file that mounts the receiver.
- Not judged: cases whose result cannot be seen from outside. The examples with a queue answer before they handle, and their handlers are their own.
- A case that a remark names does not reach the receiver: the platform answers that request itself, or the queue of the example does not take the body.

The same command runs the unit tests on Node 20, 22, 24 and 26, with both crypto backends.
`;
}

/** A table in Markdown. A bar in a cell is escaped. */
export function markdownTable(
  titles: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): string {
  const line = (cells: readonly (string | number)[]) =>
    `| ${cells.map((cell) => String(cell).replaceAll("|", "\\|")).join(" | ")} |`;
  const isNumber = (column: number) =>
    rows.length > 0 && rows.every((cells) => typeof cells[column] === "number");
  const rule = titles.map((_title, column) => (isNumber(column) ? "--:" : "---"));
  return [line(titles), `|${rule.join("|")}|`, ...rows.map(line)].join("\n");
}

/** The table of the platforms. */
export function platformTable(results: readonly PlatformResult[]): string {
  return markdownTable(
    ["platform", "version", "glue lines", "passed", "failed", "not judged", "remark"],
    results.map((result) => {
      const { platform, version, glueLines, passed, failed, notJudged } = result;
      return [platform.name, version, glueLines, passed, failed, notJudged, remarkOf(result)];
    }),
  );
}

/** The table of what vitest has run: the unit tests on each Node, and tests in full. */
export function unitTestTable(results: readonly UnitTestResult[]): string {
  return markdownTable(
    ["tests", "passed", "failed"],
    results.map(({ name, passed, failed }) => [name, passed, failed]),
  );
}

function remarkOf({ platform: { remark, ownAnswers = {} }, complaints }: PlatformResult): string {
  const own = Object.entries(ownAnswers).map(([id, why]) => `\`${id}\`: ${why}`);
  const failure = complaints.length === 0 ? [] : ["**does not pass**"];
  return [...failure, ...(remark === undefined ? [] : [remark]), ...own].join("; ");
}
