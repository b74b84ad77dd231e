import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { restore, store } from "../support/cached.js";

/** `test/platforms/`. */
const HERE = new URL("./", import.meta.url);

/** The packages of each folder, relative to `test/platforms/`, at the versions that were tried. */
export const PACKAGES = JSON.parse(
  readFileSync(new URL("packages.json", HERE), "utf8"),
) as Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The file or folder below `test/platforms/FOLDER/`, as a path. */
export function pathIn(folder: string, file = ""): string {
  return fileURLToPath(new URL(`${folder}/${file}`, HERE));
}

/**
 * Installs the packages of a folder that are not there in the versions of `packages.json`, and what this package itself
 * depends on. `folder` is relative to `test/platforms/`, which is `"."`. Does nothing for a folder without packages.
 */
export async function installPackages(folder: string): Promise<void> {
  const named = PACKAGES[folder];
  if (named === undefined) return;
  const root = new URL(`${folder}/`, HERE);
  const dependencies = { ...named, ...ownDependencies() };
  const text = JSON.stringify({ private: true, type: "module", dependencies }, null, 2);
  const manifest = pathIn(folder, "package.json");
  const target = pathIn(folder, "node_modules");
  if (readIfThere(manifest) === text && readIfThere(`${target}/.installed`) === text) return;
  mkdirSync(root, { recursive: true });
  writeFileSync(manifest, text);
  const system = `${process.version} ${process.platform} ${process.arch}`;
  const digest = createHash("sha256").update(text).update(system).digest("hex").slice(0, 16);
  const key = `platforms/${folder.replaceAll("/", "-")}-${digest}`;
  if (restore(key, target)) return;
  // A lock file would be one of other people's packages, for each folder.
  const args = ["install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"];
  // What runs beside the packages of the repository's root takes its peers from there.
  if (folder.startsWith("../")) args.push("--ignore-scripts", "--legacy-peer-deps");
  await promisify(execFile)("npm", args, { cwd: fileURLToPath(root) });
  writeFileSync(`${target}/.installed`, text);
  store(key, target);
}

/** What the package needs beside an app, at the versions of this repository. */
function ownDependencies(): Record<string, string> {
  const read = (file: string) =>
    JSON.parse(readFileSync(new URL(`../../${file}`, HERE), "utf8")) as {
      readonly version: string;
      readonly dependencies?: object;
    };
  const names = Object.keys(read("package.json").dependencies ?? {});
  return Object.fromEntries(
    names.map((name) => [name, read(`node_modules/${name}/package.json`).version]),
  );
}

function readIfThere(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

/** Puts the package as it has been built, and other files by their path, into a folder. */
export function copyPackage(folder: string, files: Readonly<Record<string, string>> = {}): void {
  // A copy and no link: bundlers follow links to files outside of their root.
  const target = pathIn(folder, "node_modules/identity-gateway-webhooks");
  rmSync(target, { recursive: true, force: true });
  for (const name of ["package.json", "dist"]) {
    cpSync(new URL(`../../${name}`, HERE), path.join(target, name), { recursive: true });
  }
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.dirname(pathIn(folder, file)), { recursive: true });
    writeFileSync(pathIn(folder, file), text);
  }
}

/** The version of a package that is installed in a folder. */
export function installedVersion(folder: string, name: string): string {
  const manifest = readFileSync(
    new URL(`${folder}/node_modules/${name}/package.json`, HERE),
    "utf8",
  );
  return (JSON.parse(manifest) as { version: string }).version;
}

/** Bun's binary. */
export const BUN = pathIn("bun", "node_modules/@oven/bun-linux-x64/bin/bun");

/** The binary of a Node, by its major version. */
export function nodeProgram(major: number): string {
  return pathIn("node", `node_modules/node${major}/bin/node`);
}
