import { createHash, randomUUID } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { pause } from "../../src/common/timers.js";
import { UsageError } from "../exit.js";
import { fileReason } from "../options/read-input.js";

/** Longer than a process takes from a look at a lock to its replacement. */
const RIVAL_MS = 300;
/** The locks of this process: after a restart in a container another one may have had its number. */
const held = new Set<string>();

/** The lock of a URL, beside the state of its rotation. */
export function lockFileOf(nextFile: string, url: string): string {
  const name = createHash("sha256").update(url).digest("hex").slice(0, 16);
  return path.join(path.dirname(nextFile), `rotation-${name}.lock`);
}

/**
 * Holds the rotation of a URL for this process, by a file that only its owner can read (mode 600). Resolves to a
 * function that lets it go; undefined if another process holds it. The lock of a killed process is taken over.
 */
export async function lockRotation(file: string): Promise<(() => Promise<void>) | undefined> {
  const own = `${process.pid} ${randomUUID()}`;
  held.add(own);
  if ((await isMade(file, own)) || (!(await isHeld(file)) && (await takeOver(file, own)))) {
    return async () => {
      held.delete(own);
      if ((await ownerIn(file)) === own) await rm(file, { force: true });
    };
  }
  held.delete(own);
  return undefined;
}

async function takeOver(file: string, own: string): Promise<boolean> {
  await rm(file, { force: true });
  if (!(await isMade(file, own))) return false;
  // Another process may have seen the same killed one, and have removed this lock in place of that.
  await pause(RIVAL_MS);
  return (await ownerIn(file)) === own;
}

async function isMade(file: string, owner: string): Promise<boolean> {
  try {
    await writeFile(file, owner, { mode: 0o600, flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw new UsageError(`--next-file: ${fileReason(error)}`);
  }
}

function ownerIn(file: string): Promise<string> {
  return readFile(file, "utf8").catch(() => "");
}

async function isHeld(file: string): Promise<boolean> {
  // One that is being made is empty for a moment.
  const owner = (await ownerIn(file)) || (await pause(RIVAL_MS).then(() => ownerIn(file)));
  const pid = Number.parseInt(owner, 10);
  if (pid === process.pid) return held.has(owner);
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch (error) {
    // A process of another user cannot be signalled.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
