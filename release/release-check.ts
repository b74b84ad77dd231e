// npm run release:check: everything that has to hold before `npm publish`. Publishes nothing. Each line says what was
// checked; a failed one says what to do. The bill of materials is written to reports/sbom.json.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import {
  changelogProblem,
  contactProblem,
  exportedFiles,
  homepageProblem,
  sbomProblem,
  tarballProblem,
  type Problem,
  type Tarball,
} from "./checks.js";

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly homepage?: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly exports: object;
  readonly main: string;
  readonly types: string;
  readonly bin: object;
}

const manifest = JSON.parse(read("package.json")) as Manifest;
const { exports, main, types, bin } = manifest;

const CHECKS: Readonly<Record<string, () => Problem>> = {
  "the tree is clean": () => {
    const changed = run("git", "status", "--porcelain");
    return changed === "" ? undefined : `commit or remove:\n${changed}`;
  },
  "the version has a dated section in the changelog": () =>
    changelogProblem(read("CHANGELOG.md"), manifest.version),
  "the version has no tag yet": () =>
    run("git", "tag", "--list", `v${manifest.version}`) === ""
      ? undefined
      : `the tag v${manifest.version} exists: raise the version`,
  "SECURITY.md has an address": () => contactProblem(read("SECURITY.md")),
  "the homepage is the site": () => homepageProblem(manifest.homepage),
  "the package builds": () => void run("npm", "run", "build"),
  "the API reports are those of the build": () => void run("tsx", "api/make-reports.ts", "--check"),
  "the tarball is small and complete": () => {
    const [tarball] = JSON.parse(run("npm", "pack", "--dry-run", "--json")) as [Tarball];
    return tarballProblem(tarball, exportedFiles([exports, main, types, bin]));
  },
  "npm would publish it": () => void run("npm", "publish", "--dry-run"),
  "there is a bill of materials": () => {
    const sbom = billOfMaterials();
    mkdirSync("reports", { recursive: true });
    writeFileSync("reports/sbom.json", `${sbom}\n`);
    return sbomProblem(sbom, Object.keys(manifest.dependencies));
  },
};

let failed = 0;
for (const [name, check] of Object.entries(CHECKS)) {
  const problem = problemOf(check);
  if (problem === undefined) {
    process.stdout.write(`✓ ${name}\n`);
  } else {
    failed += 1;
    process.stdout.write(`✗ ${name}\n    ${problem.trim().replaceAll("\n", "\n    ")}\n`);
  }
}
process.stdout.write(
  failed === 0
    ? `\n✓ ${manifest.version} can be released: npm publish\n`
    : `\n✗ ${String(failed)} of ${String(Object.keys(CHECKS).length)} checks failed\n`,
);
process.exitCode = failed === 0 ? 0 : 1;

function problemOf(check: () => Problem): Problem {
  try {
    return check();
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    return stderr === undefined || stderr === "" ? message : stderr.slice(-2_000);
  }
}

/**
 * What a user installs, as CycloneDX: the run-time dependencies in a project of this name and version. In the checkout
 * `npm sbom --omit dev` lists nothing.
 */
function billOfMaterials(): string {
  const parent = mkdtempSync(path.join(tmpdir(), "igw-sbom-"));
  const { name, version, license, dependencies } = manifest;
  const cwd = path.join(parent, name);
  try {
    mkdirSync(cwd);
    const project = JSON.stringify({ name, version, license, dependencies });
    writeFileSync(path.join(cwd, "package.json"), project);
    execFileSync("npm", ["install", "--prefer-offline", "--ignore-scripts"], {
      cwd,
      stdio: "ignore",
    });
    const args = ["sbom", "--sbom-format", "cyclonedx"];
    return execFileSync("npm", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  } finally {
    rmSync(parent, { recursive: true, force: true });
  }
}

function run(command: string, ...args: readonly string[]): string {
  return execFileSync(command, args, {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  }).trim();
}

function read(file: string): string {
  return readFileSync(file, "utf8");
}
