/** One case of a JUnit report. */
export interface JunitCase {
  /** The group that the case belongs to. */
  readonly group: string;
  readonly name: string;
  readonly ms: number;
  readonly result:
    | { readonly state: "passed" }
    | { readonly state: "failed"; readonly message: string; readonly details: string }
    | { readonly state: "skipped" | "error"; readonly message: string };
}

/** A JUnit report in the format that CI servers read. */
export function renderJunit(suite: string, cases: readonly JunitCase[]): string {
  const count = (state: JunitCase["result"]["state"]): number =>
    cases.filter(({ result }) => result.state === state).length;
  const totals =
    `tests="${cases.length}" failures="${count("failed")}" errors="${count("error")}" ` +
    `skipped="${count("skipped")}" time="${seconds(cases.reduce((ms, one) => ms + one.ms, 0))}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${totals}>`,
    `  <testsuite name="${escapeXml(suite)}" ${totals}>`,
    ...cases.map(renderCase),
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}

function renderCase({ group, name, ms, result }: JunitCase): string {
  const head = `    <testcase classname="${escapeXml(group)}" name="${escapeXml(name)}" time="${seconds(ms)}"`;
  switch (result.state) {
    case "passed":
      return `${head}/>`;
    case "skipped":
    case "error":
      return `${head}><${result.state} message="${escapeXml(result.message)}"/></testcase>`;
    case "failed":
      return `${head}><failure message="${escapeXml(result.message)}">${escapeXml(result.details)}</failure></testcase>`;
  }
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

/** The ampersand comes first, since every entity begins with one. */
const ENTITIES = [
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
  ["\n", "&#10;"],
  ["\t", "&#9;"],
] as const;

/** Escapes a text and drops the characters that XML 1.0 cannot express: an answer may hold any character. */
function escapeXml(text: string): string {
  const writable = text
    .replace(/[\u0000-\u0008\u000b-\u001f\ufffe\uffff]/g, "")
    .replace(/\p{Surrogate}/gu, "\ufffd");
  return ENTITIES.reduce((escaped, [char, entity]) => escaped.replaceAll(char, entity), writable);
}
