import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { restore, store } from "../support/cached.js";

/** `test/platforms/`. */
const HERE = new URL("./", import.meta.url);

/** The first line of the receiver that all apps share. A file of the same name without it is left alone. */
const SHARED = "// The receiver of every platform's app.";

const changedAt = (file: URL): number => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** The file or folder below `test/platforms/FOLDER/`, as a path. */
export function pathIn(folder: string, file = ""): string {
  return fileURLToPath(new URL(`${folder}/${file}`, HERE));
}

/**
 * Installs the packages of a folder where its lockfile asks for others. `folder` is relative to `test/platforms/`, which
 * is `"."`. Does nothing for a folder without a package.json.
 */
export async function installPackages(folder: string): Promise<void> {
  const root = new URL(`${folder}/`, HERE);
  if (!existsSync(new URL("package.json", root))) return;
  const installed = changedAt(new URL("node_modules/.package-lock.json", root));
  const wanted = ["package.json", "package-lock.json"].map((file) =>
    changedAt(new URL(file, root)),
  );
  if (installed >= Math.max(...wanted) && installed > 0) return;
  const target = fileURLToPath(new URL("node_modules", root));
  const key = `platforms/${folder.replaceAll("/", "-")}-${lockDigest(root)}`;
  if (restore(key, target)) {
    utimesSync(new URL("node_modules/.package-lock.json", root), new Date(), new Date());
    return;
  }
  // Not `npm ci`: it insists on builds for other systems, which registries do not always have.
  const args = ["install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"];
  await promisify(execFile)("npm", args, { cwd: fileURLToPath(root) });
  store(key, target);
}

/** What npm installs depends on the lockfile, the Node and the system. */
function lockDigest(root: URL): string {
  const lock = readFileSync(new URL("package-lock.json", root));
  const system = `${process.version} ${process.platform} ${process.arch}`;
  return createHash("sha256").update(lock).update(system).digest("hex").slice(0, 16);
}

/**
 * Puts the package as it has been built, and the receiver of the apps, into a folder. What the versions of a platform
 * share is in a folder of its name alone: `nest-11` also gets the files of `nest`.
 */
export function copyPackage(folder: string): void {
  const root = new URL(`${folder}/`, HERE);
  // A copy and no link: bundlers follow links to files outside of their root.
  const target = new URL("node_modules/identity-gateway-webhooks/", root);
  rmSync(target, { recursive: true, force: true });
  for (const path of ["package.json", "dist"]) {
    cpSync(new URL(`../../${path}`, HERE), new URL(path, target), { recursive: true });
  }
  const shared = sharedFolder(folder);
  if (shared.href !== root.href) cpSync(shared, root, { recursive: true });
  const receiver = new URL("receiver.mjs", root);
  if (existsSync(receiver) && !readFileSync(receiver, "utf8").startsWith(SHARED)) return;
  writeFileSync(receiver, readFileSync(new URL("receiver.mjs", HERE), "utf8"));
}

/** Where the app of a platform is kept: `express/` for `express-4`, if there is such a folder. */
export function sharedFolder(folder: string): URL {
  const shared = new URL(`${folder.replace(/-\d+$/, "")}/`, HERE);
  return existsSync(shared) ? shared : new URL(`${folder}/`, HERE);
}

/** The version of a package that is installed in a folder. */
export function installedVersion(folder: string, name: string): string {
  const manifest = readFileSync(
    new URL(`${folder}/node_modules/${name}/package.json`, HERE),
    "utf8",
  );
  return (JSON.parse(manifest) as { version: string }).version;
}
