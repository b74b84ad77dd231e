import type { ConformanceExchange } from "../../testing/conformance/conformance-case.js";
import type { ConformanceCaseReport } from "../../testing/conformance/run-conformance.js";
import { hasPassed, receivedLine, sentLine } from "./doctor-report.js";
import type { JunitCase } from "./junit-report.js";

/** A case in the format of `--json`. */
export function caseJson(end: ConformanceCaseReport) {
  const { id, level, group, title, why, fix, result, reason, exchanges, ms } = end;
  return {
    id,
    level,
    group,
    title,
    result,
    ...(reason === undefined ? {} : { reason }),
    ...(result === "failed" ? { why, fix, exchanges: exchanges.map(exchangeJson) } : {}),
    ms: Number(ms.toFixed(1)),
  };
}

/** A case in a JUnit report. It has failed there if it makes the exit code 1. */
export function caseJunit(end: ConformanceCaseReport, strict: boolean): JunitCase {
  const { id, level, group, title } = end;
  return {
    group: `${level}.${group}`,
    name: `${id}: ${title}`,
    ms: end.ms,
    result: junitResult(end, strict),
  };
}

function junitResult(end: ConformanceCaseReport, strict: boolean): JunitCase["result"] {
  const { why, fix, result, reason = "", exchanges } = end;
  if (result === "passed") return { state: "passed" };
  if (result === "not_judged") return { state: "skipped", message: reason };
  if (!hasPassed([end], strict)) {
    const details = [
      ...exchanges.flatMap((one) => [`sent: ${sentLine(one)}`, `received: ${receivedLine(one)}`]),
      `why: ${why}`,
      `fix: ${fix}`,
    ];
    return { state: "failed", message: reason, details: details.join("\n") };
  }
  return { state: "skipped", message: `failed, and should pass: ${reason}` };
}

function exchangeJson(exchange: ConformanceExchange) {
  return { sent: sentLine(exchange), received: receivedLine(exchange) };
}
