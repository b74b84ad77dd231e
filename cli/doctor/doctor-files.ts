import { writeFile } from "node:fs/promises";
import type { ConformanceExchange } from "../../kit/conformance/conformance-case.js";
import type { ConformanceCaseReport } from "../../kit/conformance/run-conformance.js";
import { UsageError } from "../exit.js";
import { PROGRAM } from "../help-text.js";
import { fileFault } from "../options/read-input.js";
import { printableLine } from "../terminal/printable.js";
import { receivedLine, sentLine } from "./doctor-report.js";
import { renderJunit, type JunitCase } from "./junit-report.js";
import type { Obstacle } from "./preflight.js";

/** A case in the format of `--json`. */
export function caseJson(end: ConformanceCaseReport) {
  const { id, level, group, title, why, fix, result, reason, code, need, exchanges, ms } = end;
  return {
    id,
    level,
    group,
    title,
    result,
    reason,
    code,
    need,
    ...(result === "failed" ? { why, fix, exchanges: exchanges.map(exchangeJson) } : {}),
    ms: Number(ms.toFixed(1)),
  };
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
    const { id, level, group, title } = end;
    this.#cases.push({
      group: `${level}.${group}`,
      name: `${id}: ${title}`,
      ms: end.ms,
      result: junitResult(end, isFailure),
    });
  }

  addObstacle({ code, message, fix }: Obstacle): void {
    this.#cases.push({
      group: "must.preflight",
      name: `${code}: the endpoint can be tested`,
      ms: 0,
      result: { state: "failed", message, type: code, details: `fix: ${fix}` },
    });
  }

  /** Writes the report. `fault`: why the run ended before its end. */
  async end(fault?: string): Promise<void> {
    if (this.#path === undefined) return;
    const broken: readonly JunitCase[] =
      fault === undefined
        ? []
        : [
            {
              group: "must.run",
              name: "doctor runs to its end",
              ms: 0,
              result: { state: "error", message: printableLine(fault, 1_000) },
            },
          ];
    try {
      await writeFile(this.#path, renderJunit(`${PROGRAM} doctor`, [...this.#cases, ...broken]));
    } catch (error) {
      throw new UsageError(`--junit: ${fileFault(this.#path, error)}`);
    }
  }
}

function junitResult(end: ConformanceCaseReport, isFailure: boolean): JunitCase["result"] {
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

function exchangeJson(exchange: ConformanceExchange) {
  return { sent: sentLine(exchange), received: receivedLine(exchange) };
}
