// npm run api:update writes api/*.api.md: one report of the public API per entry of package.json. npm run api:check
// fails with the difference where a report is out of date. Both build the package first; this file reads the build.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import {
  CompilerState,
  Extractor,
  ExtractorConfig,
  ExtractorLogLevel,
} from "@microsoft/api-extractor";
import { ownReports, undocumentedExports } from "./report-text.js";

const REPOSITORY = fileURLToPath(new URL("..", import.meta.url));
const COMMITTED = path.join(REPOSITORY, "api");
const GENERATED = path.join(REPOSITORY, "reports", "api");
const SUFFIX = ".api.md";

const { exports } = JSON.parse(readFileSync(path.join(REPOSITORY, "package.json"), "utf8")) as {
  exports: Record<string, string | { require: { types: string } }>;
};
/** The declarations of each entry by the name of its report: `index`, `express` and so on. */
const declarations = new Map(
  Object.values(exports).flatMap((target) => {
    if (typeof target === "string") return [];
    const file = path.join(REPOSITORY, target.require.types);
    return [[path.basename(file, ".d.cts"), file] as const];
  }),
);

function configFor(name: string, mainEntryPointFilePath: string): ExtractorConfig {
  const silent = { default: { logLevel: ExtractorLogLevel.None } };
  return ExtractorConfig.prepare({
    configObject: {
      projectFolder: REPOSITORY,
      mainEntryPointFilePath,
      compiler: {
        overrideTsconfig: {
          compilerOptions: {
            ...{ target: "ES2022", lib: ["ES2023"], types: ["node"] },
            ...{ module: "NodeNext", moduleResolution: "NodeNext" },
            ...{ strict: true, skipLibCheck: true },
          },
          files: [...declarations.values()],
        },
      },
      apiReport: {
        enabled: true,
        reportFileName: name + SUFFIX,
        reportFolder: GENERATED,
        reportTempFolder: path.join(GENERATED, "temp"),
        // A type that no entry exports still reaches users as the type of a field.
        includeForgottenExports: true,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      // `report-text.ts` judges docstrings and unexported types: API Extractor sees one entry at a time.
      messages: { extractorMessageReporting: silent, tsdocMessageReporting: silent },
      newlineKind: "lf",
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: path.join(REPOSITORY, "package.json"),
  });
}

/** The reports as API Extractor writes them, by name. */
function extract(): Map<string, string> {
  rmSync(GENERATED, { recursive: true, force: true });
  mkdirSync(GENERATED, { recursive: true });
  let compilerState: CompilerState | undefined;
  const reports = new Map<string, string>();
  for (const [name, file] of declarations) {
    const config = configFor(name, file);
    compilerState ??= CompilerState.create(config);
    const { succeeded } = Extractor.invoke(config, {
      localBuild: true,
      compilerState,
      messageCallback(message) {
        message.handled = message.logLevel !== ExtractorLogLevel.Error;
      },
    });
    if (!succeeded) throw new Error(`API Extractor cannot read ${file}: run npm run build`);
    reports.set(name, readFileSync(path.join(GENERATED, name + SUFFIX), "utf8"));
  }
  return reports;
}

function committedNames(): readonly string[] {
  return readdirSync(COMMITTED)
    .filter((file) => file.endsWith(SUFFIX))
    .map((file) => file.slice(0, -SUFFIX.length));
}

function update(reports: ReadonlyMap<string, string>): void {
  for (const name of committedNames()) rmSync(path.join(COMMITTED, name + SUFFIX));
  for (const [name, report] of reports) writeFileSync(path.join(COMMITTED, name + SUFFIX), report);
}

/** Prints how these reports differ from the committed ones. Returns whether they are the same. */
function areCommitted(reports: ReadonlyMap<string, string>): boolean {
  for (const [name, report] of reports) writeFileSync(path.join(GENERATED, name + SUFFIX), report);
  const names = new Set([...committedNames(), ...reports.keys()]);
  const changed = Array.from(names, (name) => name + SUFFIX).filter((file) => {
    const [before, after] = [COMMITTED, GENERATED].map((folder) => {
      const report = path.join(folder, file);
      return existsSync(report) ? path.relative(REPOSITORY, report) : "/dev/null";
    });
    const diff = ["diff", "--no-index", "--exit-code", before ?? "", after ?? ""];
    return spawnSync("git", diff, { stdio: "inherit", cwd: REPOSITORY }).status !== 0;
  });
  if (changed.length === 0) return true;
  process.stderr.write(
    `The public API changed: ${changed
      .map((file) => `api/${file}`)
      .sort()
      .join(", ")}.\n` +
      "Read the difference above. If users should get it, run npm run api:update and commit api/.\n",
  );
  return false;
}

const extracted = extract();
rmSync(GENERATED, { recursive: true });
mkdirSync(GENERATED);
const reports = ownReports(extracted);
let isGood = true;
if (process.argv.includes("--check")) isGood = areCommitted(reports);
else update(reports);

const undocumented = [...reports].flatMap(([name, report]) =>
  undocumentedExports(report).map((exported) => `api/${name}${SUFFIX}: ${exported}`),
);
if (undocumented.length > 0) {
  isGood = false;
  process.stderr.write(`These exports have no docstring:\n${undocumented.join("\n")}\n`);
}
process.exitCode = isGood ? 0 : 1;
