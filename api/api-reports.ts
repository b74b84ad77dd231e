import { mkdirSync, readFileSync, rmSync } from "node:fs";
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
            target: "ES2022",
            lib: ["ES2023"],
            types: ["node"],
            module: "NodeNext",
            moduleResolution: "NodeNext",
            strict: true,
            skipLibCheck: true,
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
        tagsToReport: { "@experimental": true },
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

/**
 * The reports of the public API, one per entry of package.json, by their path in the repository. Reads the build.
 * Throws if an export has no docstring.
 */
export function apiReports(): Map<string, string> {
  const reports = ownReports(extract());
  rmSync(GENERATED, { recursive: true });
  const undocumented = [...reports].flatMap(([name, report]) =>
    undocumentedExports(report).map((exported) => `api/${name}${SUFFIX}: ${exported}`),
  );
  if (undocumented.length > 0) {
    throw new Error(`These exports have no docstring:\n${undocumented.join("\n")}`);
  }
  return new Map(Array.from(reports, ([name, report]) => [`api/${name}${SUFFIX}`, report]));
}
