import { readdir, readFile, stat } from "node:fs/promises";
import { basename, join, relative, resolve } from "node:path";
import { FixtureError } from "./fixture-error.js";
import { parseFixture, type Fixture } from "./fixture.js";
import { isGlob, parseGlob } from "./glob.js";

interface Located {
  readonly name: string;
  readonly path: string;
}

const EXTENSION = ".json";
const EVERY_FIXTURE = parseGlob(`**/*${EXTENSION}`);

/**
 * Loads fixtures: a file, a folder with all that is in it, or a pattern, of which `*`, `?`, `**` and
 * `{a,b}` are understood. Folders and patterns give the files that end in `.json`, in the order of their
 * file names and without those that begin with a dot; a list keeps its own order. A file that is found
 * twice is loaded once. A path may be written with `/` or `\`.
 *
 * ```ts
 * const fixtures = await loadFixtures("test/fixtures/alarm-*.json");
 * ```
 *
 * Rejects with a `FixtureError`: `not_found` where a path or pattern gives nothing, `unreadable` where the
 * disk refuses, `invalid_fixture` for a file that is none. The message names the file and the field.
 */
export async function loadFixtures(
  pathOrGlob: string | readonly string[],
): Promise<readonly Fixture[]> {
  const located = new Map<string, Located>();
  for (const given of [pathOrGlob].flat()) {
    for (const file of await locate(given)) {
      if (!located.has(resolve(file.path))) located.set(resolve(file.path), file);
    }
  }
  if (located.size === 0) throw new FixtureError("not_found", "give a path of fixtures");
  const fixtures: Fixture[] = [];
  // One at a time: a folder may hold more files than a process may have open.
  for (const { name, path } of located.values()) {
    fixtures.push(parseFixture(await readText(path), name, path));
  }
  return fixtures;
}

async function locate(given: string): Promise<Located[]> {
  const path = given.replaceAll("\\", "/");
  // What is there goes before what it may mean: a folder's name may have a brace in it.
  const found = (await kindOf(given)) ?? (await kindOf(path));
  if (found?.kind === "folder") {
    return filesIn(found.path, EVERY_FIXTURE.matches, `${given} has no file that ends in .json`);
  }
  if (found?.kind === "file") return [{ name: nameOf(basename(found.path)), path: found.path }];
  if (!isGlob(path)) throw new FixtureError("not_found", `there is no ${given}`);

  const { folder, matches } = parseGlob(path);
  const nothing = `${given} matches no file that ends in .json`;
  if ((await kindOf(folder))?.kind !== "folder") throw new FixtureError("not_found", nothing);
  return filesIn(folder, (file) => EVERY_FIXTURE.matches(file) && matches(file), nothing);
}

async function filesIn(
  folder: string,
  matches: (file: string) => boolean,
  nothing: string,
): Promise<Located[]> {
  const entries = await reading(folder, readdir(folder, { recursive: true, withFileTypes: true }));
  const files = entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return { path, file: relative(folder, path).replaceAll("\\", "/") };
    })
    .filter(({ file }) => matches(file))
    .sort((one, other) => (one.file < other.file ? -1 : 1));
  if (files.length === 0) throw new FixtureError("not_found", nothing);
  return files.map(({ path, file }) => ({ name: nameOf(file), path }));
}

async function kindOf(
  path: string,
): Promise<{ kind: "file" | "folder"; path: string } | undefined> {
  const stats = await reading(path, stat(path)).catch((error: unknown) => {
    if (error instanceof FixtureError && error.code === "not_found") return undefined;
    throw error;
  });
  return stats && { kind: stats.isDirectory() ? "folder" : "file", path };
}

async function readText(path: string): Promise<string> {
  const bytes = await reading(path, readFile(path));
  try {
    // A byte that is no UTF-8 would be replaced, and the body be another than was signed.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new FixtureError("invalid_fixture", `${path} is no fixture: it is no UTF-8`);
  }
}

/** Names the path in what the disk has to say. */
async function reading<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const { code = "no reason is given" } = Object(error) as { code?: string };
    if (code === "ENOENT" || code === "ENOTDIR") {
      throw new FixtureError("not_found", `there is no ${path}`);
    }
    throw new FixtureError("unreadable", `${path} cannot be read: ${code}`);
  }
}

function nameOf(file: string): string {
  return file.endsWith(EXTENSION) ? file.slice(0, -EXTENSION.length) : file;
}
