/**
 * Prints what the models prove: states and times, each flaw with its twin in code, the walks played on each store, and
 * the sequences of calls at which each store agrees with the reference store. Takes some minutes. What lacks a program
 * is shown as not run.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { MODELS, convict, wayTo } from "./models.js";
import { installHosts } from "./replay.js";
import { missingSpin, verify, type ModelName, type ModelOptions } from "./spin.js";

interface TestFile {
  readonly name: string;
  readonly assertionResults: readonly {
    readonly ancestorTitles: readonly string[];
    readonly title: string;
    readonly status: string;
    readonly duration?: number;
  }[];
}

const SEQUENCES = "every sequence of up to four calls";
const found = { hasFailed: false };

function print(...cells: readonly (string | number)[]): void {
  process.stdout.write(`| ${cells.join(" | ")} |\n`);
}

function head(...cells: readonly string[]): void {
  process.stdout.write("\n");
  print(...cells);
  print(...cells.map(() => "---"));
}

async function printStates(model: ModelName, what: string, options: ModelOptions): Promise<void> {
  const began = performance.now();
  const { states, trail } = await verify(model, options);
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  found.hasFailed ||= trail !== undefined;
  print(model, what, states, `${seconds} s`, trail === undefined ? "holds" : "BROKEN");
}

async function printFlaws(model: ModelName): Promise<void> {
  for (const flaw of MODELS[model].flaws) {
    const { way, broken } = await wayTo(model, flaw);
    const { flawed, right } = await convict(model, flaw, way);
    const isConvicted = broken === flaw.property && flawed === undefined && right !== undefined;
    found.hasFailed ||= !isConvicted;
    print(model, flaw.property, flaw.twin, way.length, isConvicted ? "both convicted" : "MISSED");
  }
}

/** The tests of the real stores, run by their titles. */
function resultsOf(title: string, ...files: readonly string[]): readonly TestFile[] {
  const folder = mkdtempSync(path.join(tmpdir(), "print-model-"));
  const outputFile = path.join(folder, "results.json");
  const projects = ["--project", "slow", "--project", "quick"];
  const reporter = ["--reporter=json", `--outputFile=${outputFile}`];
  try {
    spawnSync("npx", ["vitest", "run", ...projects, "-t", title, ...reporter, ...files]);
    const { testResults } = JSON.parse(readFileSync(outputFile, "utf8")) as {
      testResults: readonly TestFile[];
    };
    return testResults;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** How many sequences the tests of a store ask for. */
function sequencesIn(file: string): string {
  return /\bsequences: (\d+)/.exec(readFileSync(file, "utf8"))?.[1] ?? "all";
}

function printTests(files: readonly TestFile[], wanted: string, isOfSequences: boolean): void {
  for (const { name, assertionResults } of files) {
    for (const { ancestorTitles, title, status, duration = 0 } of assertionResults) {
      if (!title.includes(wanted)) continue;
      found.hasFailed ||= status === "failed";
      const first = isOfSequences
        ? [[path.basename(path.dirname(name)), ...ancestorTitles].join(": "), sequencesIn(name)]
        : [title];
      print(...first, status === "pending" ? "not run" : status, `${Math.round(duration)} ms`);
    }
  }
}

process.stdout.write("exploring the models\n");
if (missingSpin === undefined) {
  head("model", "explored", "states", "time", "properties");
  for (const model of Object.keys(MODELS) as ModelName[]) {
    await printStates(model, "two faults", { FAULTS: 2 });
    if (model === "lease") {
      await printStates(model, "two faults, three receivers", { FAULTS: 2, PROCESSES: 3 });
    }
    await printStates(model, "one fault, ends at last", { FAULTS: 1, LIVE: 1 });
  }
  head("model", "property", "twin in code", "steps of the way", "model and twin");
  const removeHosts = installHosts();
  for (const model of Object.keys(MODELS) as ModelName[]) await printFlaws(model);
  removeHosts();
} else {
  process.stdout.write(`NOT RUN: ${missingSpin}\n`);
}
head("walks on a store: 200, or MODEL_WALKS", "result", "time");
printTests(resultsOf("agrees", "test/model/models.slow.test.ts"), "agrees", false);
head("store", "sequences", "result", "time");
printTests(resultsOf(SEQUENCES, "test/stores"), SEQUENCES, true);
process.exitCode = found.hasFailed ? 1 : 0;
