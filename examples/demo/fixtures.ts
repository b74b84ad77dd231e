import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** A recorded delivery (fixtures/README.md). */
export interface Fixture {
  /** Its file, without the folder of the fixtures and `.json`. */
  readonly name: string;
  readonly description: string;
  /** The moment of the receiver's clock, ISO 8601. */
  readonly receivedAt: string;
  readonly expect: { readonly outcome: string; readonly status: number };
  /** A list where the header was sent more than once. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: Uint8Array;
}

type FixtureFile = Omit<Fixture, "name" | "body"> &
  ({ readonly body: string } | { readonly bodyBase64: string });

export const fixturesFolder = fileURLToPath(new URL("../../fixtures/", import.meta.url));

/** Every fixture of a folder and the folders in it, by name. */
export async function loadFixtures(folder: string): Promise<Fixture[]> {
  const files = await readdir(folder, { recursive: true });
  const names = files.filter((file) => file.endsWith(".json")).sort();
  return Promise.all(names.map((file) => loadFixture(folder, file)));
}

/** One fixture; `file` is relative to the folder. */
export async function loadFixture(folder: string, file: string): Promise<Fixture> {
  const recorded = JSON.parse(await readFile(join(folder, file), "utf8")) as FixtureFile;
  const name = file.slice(0, -".json".length).replaceAll("\\", "/");
  const body =
    "body" in recorded ? Buffer.from(recorded.body) : Buffer.from(recorded.bodyBase64, "base64");
  return { ...recorded, name, body };
}
