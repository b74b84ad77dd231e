// npm run mutation [-- ROOM…] [OPTION…]
// Stryker on the modules that decide about a delivery, one room of src/ after the other, each with the tests
// that must notice its mutants. Options are those of `stryker run`: `--incremental` repeats only what a
// change of sources or tests can alter, and `handling --mutate src/handling/claims.ts` takes one file.
import { spawnSync } from "node:child_process";
import { readFileSync, renameSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { installPackages } from "../platforms/install.js";
import { TESTS } from "./rooms.js";

const FOUND = ["Killed", "Timeout"];
const MISSED = ["Survived", "NoCoverage"];
/** Percent of the mutants that must be found. Some change nothing that a test could see. */
const LEAST_SCORE = 90;

const pathOf = (file: string) => fileURLToPath(new URL(file, import.meta.url));
const REPORTS = pathOf("../../reports/mutation/");

await installPackages("../mutation");

const config = JSON.parse(readFileSync(pathOf("stryker.config.json"), "utf8")) as {
  mutate: string[];
};
const given = process.argv.slice(2);
const optionsAt = given.findIndex((word) => word.startsWith("-"));
const options = optionsAt === -1 ? [] : given.slice(optionsAt);
const named = optionsAt === -1 ? given : given.slice(0, optionsAt);

/** What became of the mutants of a room, from its report. */
function mutantsOf(room: string): string[] {
  const report = JSON.parse(readFileSync(`${REPORTS}${room}.json`, "utf8")) as {
    files: Record<string, { mutants: { status: string }[] }>;
  };
  return Object.values(report.files).flatMap(({ mutants }) => mutants.map(({ status }) => status));
}

let found = 0;
let missed = 0;
for (const room of named.length === 0 ? Object.keys(TESTS) : named) {
  const tests = TESTS[room];
  if (tests === undefined) throw new Error(`${room} is none of ${Object.keys(TESTS).join(", ")}`);
  const files = config.mutate.filter((file) => new RegExp(`^src/${room}[./]`).test(file));
  const { status } = spawnSync(
    process.execPath,
    [
      pathOf("node_modules/@stryker-mutator/core/bin/stryker.js"),
      "run",
      pathOf("stryker.config.json"),
      "--mutate",
      files.join(","),
      "--incrementalFile",
      `${REPORTS}${room}-incremental.json`,
      ...options,
    ],
    // In the repository's root: Stryker copies the folder in which it runs.
    { cwd: pathOf("../.."), stdio: "inherit", env: { ...process.env, MUTATION_TESTS: tests } },
  );
  if (status !== 0) throw new Error(`Stryker failed in ${room}`);
  for (const type of ["html", "json"]) {
    renameSync(`${REPORTS}mutation.${type}`, `${REPORTS}${room}.${type}`);
  }
  for (const mutant of mutantsOf(room)) {
    if (FOUND.includes(mutant)) found += 1;
    if (MISSED.includes(mutant)) missed += 1;
  }
}

const score = (100 * found) / (found + missed);
process.stdout.write(`${String(found)} of ${String(found + missed)}: ${score.toFixed(1)} %\n`);
if (score < LEAST_SCORE) process.exitCode = 1;
