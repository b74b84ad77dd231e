import ts from "typescript";
import {
  receiverConformance,
  runConformance,
  TEST_SECRET,
  type ConformanceReport,
  type WebhookTarget,
} from "../../kit/index.js";
import { startLedgerServer } from "./ledger-server.js";
import type { Platform, PlatformResult } from "./platform.js";

/** Runs every case against one platform. One that does not start is a result, too. */
export async function runRow(platform: Platform): Promise<PlatformResult> {
  const startedAt = performance.now();
  const row = { platform, glueLines: glueLines(platform.code) };
  const secondsSince = () => Math.round((performance.now() - startedAt) / 1000);
  try {
    const { report, unreachable } = await runCases(platform);
    const { passed, failed, notJudged, results } = report;
    const complaints = [...unreachable, ...complaintsOf(platform, results)];
    const version = platform.version();
    return { ...row, version, passed, failed, notJudged, complaints, seconds: secondsSince() };
  } catch (error) {
    const complaints = [error instanceof Error ? error.message : String(error)];
    const counts = { version: "", passed: 0, failed: 0, notJudged: 0 };
    return { ...row, ...counts, complaints, seconds: secondsSince() };
  }
}

interface Run {
  readonly report: ConformanceReport;
  readonly unreachable: readonly string[];
}

async function runCases(platform: Platform): Promise<Run> {
  const { ledger, url, close } = await startLedgerServer();
  try {
    const { target, stop } = await platform.start(url);
    try {
      const unreachable = await reachabilityComplaints(target);
      const { handled, whileFailing, whileSlow } = ledger;
      const hooks = platform.isSeenFromOutside === true ? {} : { handled, whileFailing, whileSlow };
      const options = { target, secret: TEST_SECRET, ...hooks };
      const report = await runConformance(receiverConformance(options));
      return { report, unreachable };
    } finally {
      await stop();
    }
  } finally {
    await close();
  }
}

/** Why a row does not count as passed: cases that nothing explains, and explanations that nothing needs. */
function complaintsOf(
  {
    ownAnswers = {},
    isSeenFromOutside = false,
  }: Pick<Platform, "ownAnswers" | "isSeenFromOutside">,
  results: readonly Pick<ConformanceReport["results"][number], "id" | "result" | "reason">[],
): readonly string[] {
  const isExplained = (id: string) => Object.hasOwn(ownAnswers, id);
  const complaints = results
    .filter(({ result }) => !(isSeenFromOutside && result === "not_judged"))
    .filter(({ id, result }) => result !== "passed" && !isExplained(id))
    .map(({ id, result, reason = "" }) => `${id} ${result.replace("_", " ")}: ${reason}`);
  for (const id of Object.keys(ownAnswers)) {
    const result = results.find((one) => one.id === id)?.result;
    if (result === undefined) complaints.push(`ownAnswers has ${id}, and there is no such case`);
    if (result === "passed") complaints.push(`ownAnswers has ${id}, and that case passed`);
  }
  if (results.length === 0) complaints.push("no case ran");
  return complaints;
}

/** The gateway asks for a URL before it makes a webhook for it. One that is called with events has none. */
async function reachabilityComplaints(target: WebhookTarget): Promise<readonly string[]> {
  if (typeof target !== "string" && !(target instanceof URL)) return [];
  const complaints: string[] = [];
  for (const method of ["GET", "HEAD"]) {
    const response = await fetch(target, { method });
    await response.arrayBuffer();
    if (response.status !== 200) complaints.push(`${method} is answered ${response.status}`);
  }
  return complaints;
}

/** The lines of a JavaScript or TypeScript file that hold code, so neither blank ones nor comments. */
function glueLines(code: string): number {
  const file = ts.createSourceFile("app.tsx", code, ts.ScriptTarget.Latest);
  const lines = new Set<number>();
  const walk = (node: ts.Node) => {
    const parts = node.getChildren(file).filter((part) => !ts.isJSDoc(part));
    for (const part of parts) walk(part);
    if (parts.length > 0 || node.getWidth(file) === 0) return;
    const first = file.getLineAndCharacterOfPosition(node.getStart(file)).line;
    const { line: last } = file.getLineAndCharacterOfPosition(node.getEnd());
    for (let line = first; line <= last; line++) lines.add(line);
  };
  walk(file);
  return lines.size;
}
