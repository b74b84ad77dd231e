/** Why a case did not pass. */
interface Fault {
  readonly message: string;
  /** A stable code. */
  readonly type?: string | undefined;
}

/** One case of a JUnit report. */
export interface JunitCase {
  /** The group that the case belongs to. */
  readonly group: string;
  readonly name: string;
  readonly ms: number;
  readonly result:
    | { readonly state: "passed" }
    | (Fault & { readonly state: "failed"; readonly details: string })
    | (Fault & { readonly state: "skipped" | "error" });
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
  if (result.state === "passed") return `${head}/>`;
  const { message, type } = result;
  const attributes = `message="${escapeXml(message)}"${type === undefined ? "" : ` type="${escapeXml(type)}"`}`;
  return result.state === "failed"
    ? `${head}><failure ${attributes}>${escapeXml(result.details)}</failure></testcase>`
    : `${head}><${result.state} ${attributes}/></testcase>`;
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
