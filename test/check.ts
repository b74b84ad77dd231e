// npm run check: types, generated files, lint, format, unused code, what is packed, bundle sizes.
import { readdirSync, statSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { runCommands } from "./commands.js";

const REPOSITORY = fileURLToPath(new URL("..", import.meta.url));
/** What the build is made of. */
const SOURCES =
  /^(?:src|adapters|kit|cli)\/.*\.(?:ts|css|html)$|^release\/(?:entries|frameworks)\.ts$|^(?:package(?:-lock)?\.json|ts(?:up|config)[.\w]+)$/;
/** The file that `npm run build` writes last. */
const LAST_BUILT = "dist/index.d.cts";

/** TypeScript 7, which takes a tenth of the time of 6. The build's declarations are made by 6. */
const TSC = "test/platforms/typescript-7/node_modules/.bin/tsc";

/** The longest first, so that none is left to run alone. */
const CHECKS = [
  TSC,
  `${TSC} -p cli/page/browser`,
  "tsx release/check-entries.ts",
  "tsx docs/generate.ts --check",
  "prettier --check .",
  "size-limit",
  "attw --pack",
  `${TSC} -p examples`,
  "oxlint .",
  "knip",
  "publint --strict",
];

function changedAt(file: string): number {
  return statSync(path.join(REPOSITORY, file), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function isBuilt(): boolean {
  const folders = ["src", "adapters", "kit", "cli", "release"].flatMap((folder) =>
    readdirSync(path.join(REPOSITORY, folder), { recursive: true, encoding: "utf8" }).map(
      (file) => `${folder}/${file}`,
    ),
  );
  const files = [...folders, ...readdirSync(REPOSITORY)].filter((file) => SOURCES.test(file));
  return files.every((file) => changedAt(file) < changedAt(LAST_BUILT));
}

const prepared = await runCommands(
  ["tsx test/platforms/install-for-tests.ts", ...(isBuilt() ? [] : ["npm run --silent build"])],
  { atATime: 2 },
);
const failed = prepared.length > 0 ? prepared : await runCommands(CHECKS, { atATime: 2 });
if (failed.length > 0) {
  process.stderr.write(`npm run check failed:\n${failed.join("\n")}\n`);
  process.exitCode = 1;
}
