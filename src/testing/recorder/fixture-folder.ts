import { randomUUID } from "node:crypto";
import { access, link, mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** A folder to which files are added. */
export interface FixtureFolder {
  /** Makes the folder where it is missing. */
  readonly open: () => Promise<void>;
  /** Adds `<number>-<stem>.json` under the next free number and gives its path. */
  readonly add: (stem: string, text: string) => Promise<string>;
}

/** Makes one more name of a file; rejects with the code EEXIST where the name is taken. */
export type LinkFile = (existing: string, path: string) => Promise<void>;

/**
 * Adds files so that each is there whole or not at all and none is overwritten, whoever else writes into
 * the folder: the text goes to a hidden file, which is linked under its name (a link fails where the name
 * is taken, a rename would replace what is there). Numbered in the order in which they are added, from
 * behind the highest number that is there.
 */
export function createFixtureFolder(directory: string, linkFile: LinkFile = link): FixtureFolder {
  let next: number | undefined;

  return {
    open: async () => {
      await mkdir(directory, { recursive: true });
    },
    async add(stem, text) {
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

/** False where the name is taken. */
async function publish(
  hidden: string,
  directory: string,
  name: string,
  linkFile: LinkFile,
): Promise<boolean> {
  try {
    await linkFile(hidden, join(directory, name));
    return true;
  } catch (error) {
    if (isTaken(error)) return false;
    // FAT and some network drives know no links, and each says so by a code of its own.
    return publishUnderLock(hidden, directory, name);
  }
}

/** Only who has made the lock file may rename, and only where there is nothing of the name. */
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
