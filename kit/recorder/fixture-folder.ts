import { randomUUID } from "node:crypto";
import { access, link, mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Gives a file one more name. Rejects with the code EEXIST if the name is taken. */
export type LinkFile = (existing: string, path: string) => Promise<void>;

/**
 * Adds files to a folder. Each file appears complete or not at all, and none is overwritten, even if other
 * programs write to the folder. The text goes to a hidden file that is then linked under its name: a link fails
 * if the name is taken, but a rename would replace the other file. Files are numbered in the order in which they
 * are added, after the highest existing number.
 */
export function createFixtureFolder(directory: string, linkFile: LinkFile = link) {
  let next: number | undefined;

  return {
    /** Adds `<number>-<stem>.json` under the next free number, and the folder if it is missing. Resolves to its path. */
    async add(stem: string, text: string): Promise<string> {
      await mkdir(directory, { recursive: true });
      const hidden = join(directory, `.recording-${randomUUID()}.tmp`);
      try {
        await writeFile(hidden, text, { flag: "wx" });
        next ??= (await highestNumber(directory)) + 1;
        for (;;) {
          const name = `${String(next).padStart(6, "0")}-${stem}.json`;
          next += 1;
          if (await publish(hidden, directory, name, linkFile)) return join(directory, name);
        }
      } finally {
        await rm(hidden, { force: true }).catch(() => undefined);
      }
    },
  };
}

async function highestNumber(directory: string): Promise<number> {
  const numbers = (await readdir(directory)).map((name) => /^([0-9]{1,12})-/.exec(name)?.[1]);
  return numbers.reduce((highest, number = "0") => Math.max(highest, Number(number)), 0);
}

/** Returns false if the name is taken. */
async function publish(hidden: string, directory: string, name: string, linkFile: LinkFile) {
  try {
    await linkFile(hidden, join(directory, name));
    return true;
  } catch (error) {
    if (isTaken(error)) return false;
    // FAT and some network drives have no links, and each reports that with another code.
    return publishUnderLock(hidden, directory, name);
  }
}

/** Renames while holding a lock file, and only if the name is free. */
async function publishUnderLock(hidden: string, directory: string, name: string): Promise<boolean> {
  const lock = join(directory, `.${name}.lock`);
  try {
    await writeFile(lock, "", { flag: "wx" });
  } catch (error) {
    if (isTaken(error)) return false;
    throw error;
  }
  try {
    const path = join(directory, name);
    if (await exists(path)) return false;
    await rename(hidden, path);
    return true;
  } finally {
    await rm(lock, { force: true }).catch(() => undefined);
  }
}

function isTaken(error: unknown): boolean {
  return (Object(error) as { code?: unknown }).code === "EEXIST";
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
