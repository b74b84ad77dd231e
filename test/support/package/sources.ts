import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { REPOSITORY } from "./installed-package.js";

/** The TypeScript files of folders of the repository, by their paths in it. */
export function sourcesIn(...folders: readonly string[]): readonly string[] {
  return folders.flatMap((folder) =>
    readdirSync(path.join(REPOSITORY, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && !file.includes("node_modules"))
      .map((file) => path.posix.join(folder, file)),
  );
}

/** The text of a file of the repository. */
export function textOf(file: string): string {
  return readFileSync(path.join(REPOSITORY, file), "utf8");
}
