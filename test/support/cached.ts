import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";

/** What takes long to make and depends on a version alone: it outlives a clone and its `npm ci`. */
export const CACHE = path.join(
  process.env["XDG_CACHE_HOME"] ?? path.join(homedir(), ".cache"),
  "identity-gateway-webhooks-tests",
);

/** Hard links where the file system has them: a copy of no size. */
function copy(from: string, to: string): void {
  rmSync(to, { recursive: true, force: true });
  mkdirSync(path.dirname(to), { recursive: true });
  try {
    execFileSync("cp", ["-al", from, to], { stdio: "ignore" });
  } catch {
    rmSync(to, { recursive: true, force: true });
    execFileSync("cp", ["-a", from, to]);
  }
}

/** Puts what was stored under `key` at `target`. False if nothing was. */
export function restore(key: string, target: string): boolean {
  const stored = path.join(CACHE, key);
  if (!existsSync(stored)) return false;
  copy(stored, target);
  return true;
}

/** Stores the file or folder `source` under `key`. Another process may store the same at the same time. */
export function store(key: string, source: string): void {
  const stored = path.join(CACHE, key);
  const written = `${stored}.${String(process.pid)}`;
  copy(source, written);
  try {
    renameSync(written, stored);
  } catch {
    rmSync(written, { recursive: true, force: true });
  }
}
