import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { sourcesIn, textOf } from "../support/package/sources.js";
import { installedVersion, nodeProgram } from "./install.js";

/** What became of tests that vitest has run. */
export interface UnitTestResult {
  /** The Node, as `Node 22.23.3`, or what else tells the run from others. */
  readonly name: string;
  readonly passed: number;
  readonly failed: number;
  /** The names of what failed. */
  readonly complaints: readonly string[];
}

/** What vitest's JSON reporter writes. */
interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

/** The tests of the receiver, which use nothing but Node. */
const ROOMS = [
  "receiver",
  "delivery",
  "signature",
  "records",
  "handling",
  "answer",
  "options",
  "telemetry",
  "stores/memory",
].map((room) => `test/${room}/`);

const REPOSITORY = fileURLToPath(new URL("../../", import.meta.url));

/** Runs the unit tests of both crypto backends on a Node of the folder `node`. */
export function runUnitTests(major: number): Promise<UnitTestResult> {
  const name = `Node ${installedVersion("node", `node${major}`)}`;
  return runVitest(name, nodeProgram(major), [...ROOMS, "--project", "quick*"]);
}

/** The tests that have more rows in full by `support/extent.ts`. `npm run flaws` runs those of the flawed receivers. */
function testsInFull(): readonly string[] {
  const files = sourcesIn("test").filter(
    (file) => file.endsWith(".slow.test.ts") && textOf(file).includes('support/extent.js"'),
  );
  // The rows of /nestjs are in vitest.config.ts.
  return ["test/adapters/nestjs", ...files.filter((file) => !file.startsWith("test/flawed/"))];
}

/** Runs in full what `npm run test:all` runs in part. */
export async function runInFull(): Promise<UnitTestResult> {
  const env = { TEST_EXTENT: "full" };
  await promisify(execFile)(process.execPath, ["--import", "tsx", "test/prepare.ts"], {
    cwd: REPOSITORY,
    maxBuffer: Infinity,
  });
  return runVitest(
    "tests in full",
    process.execPath,
    [...testsInFull(), "--project", "slow*"],
    env,
  );
}

async function runVitest(
  name: string,
  node: string,
  what: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<UnitTestResult> {
  const folder = mkdtempSync(path.join(tmpdir(), "unit-tests-"));
  const file = path.join(folder, "report.json");
  const vitest = "node_modules/vitest/vitest.mjs";
  const reporter = ["--reporter=json", `--outputFile=${file}`];
  const run = promisify(execFile)(node, [vitest, "run", ...what, ...reporter], {
    cwd: REPOSITORY,
    // With CI set, the configuration would write a report of its own.
    env: { ...process.env, ...env, CI: undefined },
    maxBuffer: Infinity,
  });
  const stop = () => void run.child.kill();
  process.once("exit", stop);
  try {
    // It rejects where a test failed, which the report says better.
    const failure = await run.then(() => undefined, String);
    const report = JSON.parse(readFileSync(file, "utf8")) as VitestReport;
    const complaints = failedTests(report);
    if (failure !== undefined && complaints.length === 0) complaints.push(failure);
    if (report.numPassedTests === 0) complaints.push("no test ran");
    const { numPassedTests: passed, numFailedTests: failed } = report;
    return { name, passed, failed, complaints };
  } finally {
    process.off("exit", stop);
    rmSync(folder, { recursive: true });
  }
}

/** The names of the tests that failed, and of the files that did not load. */
function failedTests({ testResults }: VitestReport): string[] {
  return testResults.flatMap(({ name, status, assertionResults }) => {
    const failed = assertionResults.filter((test) => test.status === "failed");
    if (status === "failed" && failed.length === 0) return [name];
    return failed.map(({ fullName }) => `${path.basename(name)}: ${fullName}`);
  });
}
