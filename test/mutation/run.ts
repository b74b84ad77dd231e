// npm run mutation [-- ROOM…] [OPTION…]
// Stryker on the modules that decide about a delivery, one room of src/ after the other, each with the tests
// that must notice its mutants. Options are those of `stryker run`: `--incremental` repeats only what a
// change of sources or tests can alter, and `handling --mutate src/handling/claims.ts` takes one file.
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, renameSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Folders of test/ for each room. */
const TESTS: Readonly<Record<string, string>> = {
  signature: "signature,options,answer",
  handling: "handling,receiver",
  answer: "answer",
  delivery: "delivery",
  stores: "stores/memory",
};

const pathOf = (file: string) => fileURLToPath(new URL(file, import.meta.url));
const REPORTS = pathOf("../../reports/mutation/");

const changedAt = (file: string): number =>
  statSync(pathOf(file), { throwIfNoEntry: false })?.mtimeMs ?? 0;

if (changedAt("node_modules/.package-lock.json") < changedAt("package-lock.json")) {
  execFileSync("npm", ["ci"], { cwd: pathOf("."), stdio: "inherit" });
}

const config = JSON.parse(readFileSync(pathOf("stryker.config.json"), "utf8")) as {
  mutate: string[];
};
const given = process.argv.slice(2);
const optionsAt = given.findIndex((word) => word.startsWith("-"));
const options = optionsAt === -1 ? [] : given.slice(optionsAt);
const named = optionsAt === -1 ? given : given.slice(0, optionsAt);

for (const room of named.length === 0 ? Object.keys(TESTS) : named) {
  const tests = TESTS[room];
  if (tests === undefined) throw new Error(`${room} is none of ${Object.keys(TESTS).join(", ")}`);
  const files = config.mutate.filter((file) => file.startsWith(`src/${room}/`));
  const { status } = spawnSync(
    process.execPath,
    [
      pathOf("node_modules/@stryker-mutator/core/bin/stryker.js"),
      "run",
      pathOf("stryker.config.json"),
      ...["--mutate", files.join(",")],
      ...["--incrementalFile", `${REPORTS}${room}.json`],
      ...options,
    ],
    // In the repository's root: Stryker copies the folder in which it runs.
    { cwd: pathOf("../.."), stdio: "inherit", env: { ...process.env, MUTATION_TESTS: tests } },
  );
  if (status !== 0) process.exitCode = 1;
  renameSync(`${REPORTS}index.html`, `${REPORTS}${room}.html`);
}
