import { writeFile } from "node:fs/promises";
import type { ConformanceCaseReport } from "../../kit/conformance/run-conformance.js";
import { UsageError } from "../exit.js";
import { PROGRAM } from "../help-text.js";
import { fileFault } from "../options/read-input.js";
import { printable, printableLine } from "../terminal/printable.js";
import { receivedLine, sentLine } from "./doctor-report.js";
import type { Obstacle } from "./preflight.js";

/** One case of a JUnit report. */
export interface JunitCase {
  /** The group that the case belongs to. */
  readonly group: string;
  readonly name: string;
  readonly ms: number;
  readonly state: "passed" | "failed" | "skipped" | "error";
  /** Why it did not pass, with a stable code as `type`. */
  readonly message?: string;
  readonly type?: string | undefined;
  readonly details?: string;
}

/** A JUnit report in the format that CI servers read. */
export function renderJunit(suite: string, cases: readonly JunitCase[]): string {
  const count = (wanted: JunitCase["state"]): number =>
    cases.filter(({ state }) => state === wanted).length;
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

function renderCase(one: JunitCase): string {
  const { group, name, ms, state, message = "", type, details = "" } = one;
  const head = `    <testcase classname="${escapeXml(group)}" name="${escapeXml(name)}" time="${seconds(ms)}"`;
  if (state === "passed") return `${head}/>`;
  const attributes = `message="${escapeXml(message)}"${type === undefined ? "" : ` type="${escapeXml(type)}"`}`;
  return state === "failed"
    ? `${head}><failure ${attributes}>${escapeXml(details)}</failure></testcase>`
    : `${head}><${state} ${attributes}/></testcase>`;
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
] as const;

/** Escapes a text, and what is not printable or not XML 1.0: an answer may hold any character. */
function escapeXml(text: string): string {
  const writable = printable(text)
    .replace(/[\ufffe\uffff]/g, "")
    .replace(/\p{Surrogate}/gu, "\ufffd");
  return ENTITIES.reduce((escaped, [char, entity]) => escaped.replaceAll(char, entity), writable);
}

/** The JUnit report of a run. The file exists from the beginning, also when the run ends early. */
export class JunitFile {
  readonly #path: string | undefined;
  readonly #cases: JunitCase[] = [];

  /** @param path Undefined writes nothing. */
  constructor(path: string | undefined) {
    this.#path = path;
  }

  /** Writes the report of a run that has not finished. Throws `UsageError` if the file cannot be written. */
  begin(): Promise<void> {
    return this.end("doctor did not run to its end");
  }

  addCase(end: ConformanceCaseReport, isFailure: boolean): void {
    const { id, level, group: of, title, ms } = end;
    const [group, name] = [`${level}.${of}`, `${id}: ${title}`];
    this.#cases.push({ group, name, ms, ...junitResult(end, isFailure) });
  }

  addObstacle({ code, message, fix }: Obstacle): void {
    this.#cases.push({
      group: "must.preflight",
      name: `${code}: the endpoint can be tested`,
      ms: 0,
      state: "failed",
      message,
      type: code,
      details: `fix: ${fix}`,
    });
  }

  /** Writes the report. `fault`: why the run ended before its end. */
  async end(fault?: string): Promise<void> {
    if (this.#path === undefined) return;
    const run = { group: "must.run", name: "doctor runs to its end", ms: 0 };
    const message = printableLine(fault ?? "", 1_000);
    const broken: JunitCase = { ...run, state: "error", message };
    const cases = fault === undefined ? this.#cases : [...this.#cases, broken];
    try {
      await writeFile(this.#path, renderJunit(`${PROGRAM} doctor`, cases));
    } catch (error) {
      throw new UsageError(`--junit: ${fileFault(this.#path, error)}`);
    }
  }
}

function junitResult(
  end: ConformanceCaseReport,
  isFailure: boolean,
): Pick<JunitCase, "state" | "message" | "type" | "details"> {
  const { why, fix, result, reason = "", code, need, exchanges } = end;
  if (result === "passed") return { state: "passed" };
  if (!isFailure) {
    const message = result === "failed" ? `failed, and should pass: ${reason}` : reason;
    return { state: "skipped", message, type: code ?? need };
  }
  const details = [
    ...exchanges.flatMap((one) => [`sent: ${sentLine(one)}`, `received: ${receivedLine(one)}`]),
    `why: ${why}`,
    `fix: ${fix}`,
  ];
  const message = result === "not_judged" ? `not judged: ${reason}` : reason;
  return { state: "failed", message, type: code ?? need, details: details.join("\n") };
}
