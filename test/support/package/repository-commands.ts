import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { DOCUMENTS } from "./documents.js";
import { REPOSITORY } from "./installed-package.js";

/** A command of the repository. `npx tsx server.ts` and such are commands of a partner's project. */
const COMMAND =
  /\bnpm (?:run (?:--silent )?[a-z][a-z:-]*[a-z]|test)(?: -- [^`#|"\n]+)?|\bnpx (?:vitest|tsx [a-z]+\/)[^`#"\n,;)]*|\bnode (?:bench|fixtures)\/[\w./-]+\.[cm]?js/g;

/** The commands that a text names, each as it is typed. */
function commandsIn(text: string): readonly string[] {
  return Array.from(text.matchAll(COMMAND), ([command]) =>
    command
      .replace("--silent ", "")
      // The number that the last run of `npm run faults` was started with.
      .replace(/--seed \d+/, "--seed N")
      .trim()
      // The end of a sentence.
      .replace(/\.$/, ""),
  );
}

/** The comments of a script, one a line. */
function commentsOf(file: string): string {
  const lines = readFileSync(path.join(REPOSITORY, file), "utf8").split("\n");
  return lines.filter((line) => /^\s*(?:\/\/|\/?\*|#)/.test(line)).join("\n");
}

/** The commands of the repository: those that documents and comments name, and every script of package.json. */
export function repositoryCommands(): readonly string[] {
  const read = (file: string): string => readFileSync(path.join(REPOSITORY, file), "utf8");
  const { scripts } = JSON.parse(read("package.json")) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  const sources = execFileSync("git", ["ls-files", "*.ts", "*.js", "*.mjs", "*.yml", ".ci"], {
    cwd: REPOSITORY,
    encoding: "utf8",
  });
  const found = [
    ...Object.keys(scripts).map((name) => (name === "test" ? "npm test" : `npm run ${name}`)),
    ...DOCUMENTS.flatMap((file) => commandsIn(read(file))),
    ...sources
      .trim()
      .split("\n")
      .flatMap((file) => commandsIn(commentsOf(file))),
  ];
  return [...new Set(found)].sort();
}
