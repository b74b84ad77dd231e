import { stripVTControlCharacters, styleText } from "node:util";

/** Passed cases that each group keeps. */
const KEPT = 2;
const CASE = /^ {2}[✓–✗] /;
const PASSED = /^ {2}✓ /;

/**
 * The report of `doctor` without most of what passed, so that it fits a page. What is left out is
 * counted; what failed or was not judged stays, and no line is changed.
 */
export function shortenedReport(report: string): readonly string[] {
  const groups = report.trimEnd().split("\n\n");
  return groups.flatMap((group, at) => [...(at === 0 ? [] : [""]), ...shortenedGroup(group)]);
}

function shortenedGroup(group: string): readonly string[] {
  const cases = casesOf(group.split("\n"));
  const passed = cases.filter(([first = ""]) => PASSED.test(stripVTControlCharacters(first)));
  // A line that says that one is left out would save none.
  const hidden = passed.length > KEPT + 1 ? passed.slice(KEPT) : [];
  const lines = cases.filter((one) => !hidden.includes(one)).flat();
  return hidden.length === 0 ? lines : [...lines, dim(`  … ${String(hidden.length)} more passed`)];
}

/** A case's own line with the details below it; what stands before the first case by itself. */
function casesOf(lines: readonly string[]): readonly string[][] {
  const cases: string[][] = [];
  for (const line of lines) {
    const last = cases.at(-1);
    if (last === undefined || CASE.test(stripVTControlCharacters(line))) cases.push([line]);
    else last.push(line);
  }
  return cases;
}

function dim(text: string): string {
  return styleText("dim", text, { validateStream: false });
}
