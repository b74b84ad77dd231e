import { readdirSync } from "node:fs";
import path from "node:path";
import { REPOSITORY } from "./installed-package.js";

/** The documents that users read, by their paths in the repository. */
export const DOCUMENTS: readonly string[] = [
  ...readdirSync(REPOSITORY).filter((file) => file.endsWith(".md")),
  "examples/README.md",
  "fixtures/README.md",
  "bench/README.md",
  "test/alerts/results.md",
  ...["docs", "docs/stores"].flatMap((folder) =>
    readdirSync(path.join(REPOSITORY, folder))
      .filter((file) => file.endsWith(".md"))
      .map((file) => `${folder}/${file}`),
  ),
];

/** The documents about tests. */
export const TESTING_DOCUMENTS: readonly string[] = [
  "test-handlers",
  "test-endpoint",
  "listen",
  "command-line",
  "answers",
].map((name) => `docs/${name}.md`);
