import { readFileSync } from "node:fs";
import {
  receiverConformance,
  runConformance,
  TEST_SECRET,
  type ConformanceReport,
} from "../../kit/index.js";
import { glueLines } from "./glue-lines.js";
import { pathIn } from "./install.js";
import { complaintsOf, reachabilityComplaints } from "./judge.js";
import { startLedgerServer } from "./ledger-server.js";
import type { Platform, PlatformResult } from "./platform.js";

/** Runs every case against one platform. One that does not start is a result, too. */
export async function runRow(platform: Platform): Promise<PlatformResult> {
  const startedAt = performance.now();
  const { folder, app } = platform;
  const row = { platform, glueLines: glueLines(readFileSync(pathIn(folder, app), "utf8")) };
  const secondsSince = (): number => Math.round((performance.now() - startedAt) / 1000);
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
