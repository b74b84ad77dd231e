import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { appendFile, mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { createCommand } from "../command.js";
import { AGENTS, documentFile } from "../documents.js";
import { EXIT, UsageError, untilAborted } from "../exit.js";
import { FRAMEWORKS } from "../init-files.js";
import { planOf } from "../init-plan.js";
import { readProject, type Project } from "../init-project.js";
import { STORES } from "../init-stores.js";
import { flag, text } from "../options/option-specs.js";
import { fileFault } from "../options/read-input.js";
import type { CommandIo } from "../terminal/command-io.js";

const NAMES = Object.keys(FRAMEWORKS);
const MEMORY = "memory";
const STORE_NAMES = [MEMORY, ...Object.keys(STORES)];

/** Writes the files of a new receiver. */
export const init = createCommand({
  name: "init",
  summary: "writes a receiver for your framework, with its test",
  usage: "[folder]",
  positionals: { min: 0, max: 1 },
  about: [
    "Writes into the folder, by default the current one: the receiver, a test of it, .env.example and .gitignore; for aws-lambda a program that runs it on this machine and a SAM template, for cloudflare wrangler.jsonc and the migration of D1; and a package.json if there is none. A file that exists stays as it is.",
    "Where the project has an app, it writes a module beside it, in the language of the app, and prints the lines that mount it. It follows the test runner and the package manager, also of a folder above.",
    "Shows the files first, and asks before it writes them. Uses no network and writes no secret. Ends with the commands to run.",
    "Without --framework it takes the one that package.json names, and otherwise asks. Exits 0, or 2 if it cannot ask or cannot write a file.",
  ],
  options: {
    framework: text("<name>", "What the receiver runs on:", NAMES),
    store: text(
      "<name>",
      "What a server remembers deliveries in. Default memory. One of:",
      STORE_NAMES,
    ),
    agents: flag(`Adds a line about this package to the ${AGENTS.file} that is there.`),
    yes: flag("Writes without asking."),
    "dry-run": flag("Shows the files and the commands, and writes nothing."),
  },
  examples: {
    "In an empty folder": "init --framework express",
    "What it would write for a Worker": "init worker --framework cloudflare --dry-run",
  },
  async run(io, values, [folder = "."]) {
    const { out } = io;
    const project = readProject(folder);
    const { isThere } = project;
    const name = values.framework ?? (await frameworkOf(io, project));
    const framework = NAMES.includes(name) ? FRAMEWORKS[name] : undefined;
    if (framework === undefined) throw new UsageError(`the framework must be ${oneOf(NAMES)}`);
    const { store = MEMORY } = values;
    if (framework.host !== undefined && values.store !== undefined) {
      throw new UsageError(`${name} has a store of its own: leave out --store`);
    }
    const { files, commands, after } = planOf(framework, project, STORES[store]);
    const { secretFile } = framework;
    const isHidden = await isIgnored(folder, secretFile);
    const missing = Object.entries(files).filter(
      ([file]) => !isThere(file) && !(file === ".gitignore" && isHidden),
    );
    if (values.agents && !isThere(AGENTS.file)) {
      throw new UsageError(`--agents adds a line to ${AGENTS.file}, and there is none`);
    }
    out.write(`A receiver for ${name}:\n`);
    for (const file of Object.keys(files)) {
      if (isThere(file)) out.write(`  ${file} is there and stays as it is\n`);
    }
    for (const [file] of missing) out.write(`+ ${file}\n`);
    if (values.agents) out.write(`+ a line in ${AGENTS.file}\n`);
    const isExposed = isThere(".gitignore") && !isHidden;
    if (isExposed) out.write(`  git does not ignore ${secretFile}, and would commit the secret\n`);
    if (values["dry-run"]) out.write("\nNothing was written. Afterwards you would run:\n");
    else {
      if (!values.yes && !(await isConfirmed(io))) {
        out.write("Nothing was written.\n");
        return EXIT.passed;
      }
      for (const [file, content] of missing) await writeNew(path.join(folder, file), content);
      if (values.agents) await addLine(path.join(folder, AGENTS.file));
      out.write(`\nWritten: ${missing.length} files. Now run:\n`);
    }
    const ignore = isExposed ? [`printf '\\n${secretFile}\\n' >> .gitignore`] : [];
    const all = [...(folder === "." ? [] : [`cd '${folder}'`]), ...ignore, ...commands];
    for (const command of all) out.write(`  ${command}\n`);
    for (const line of after) out.write(`${line}\n`);
    return EXIT.passed;
  },
});

/** The framework that package.json names, or the answer to a question. Throws `UsageError` if no one can answer. */
async function frameworkOf(io: CommandIo, { own, found }: Project): Promise<string> {
  const known = NAMES.filter((name) => own.includes(FRAMEWORKS[name]?.knownBy ?? ""));
  const [only, another] = known;
  if (known.includes("nestjs")) return "nestjs";
  if (only !== undefined && another === undefined) return only;
  // The others cannot be the first of a project.
  const possible = NAMES.filter((name) => {
    const { server, host } = FRAMEWORKS[name] ?? {};
    return found !== undefined || server !== undefined || host !== undefined;
  });
  const choices = oneOf(another === undefined ? possible : known);
  if (!io.isStdinTTY) {
    const page = documentFile("frameworks");
    throw new UsageError(`no framework: pass --framework, which is ${choices}; ${page} has others`);
  }
  return ask(io, `Which framework: ${choices}? `);
}

async function isConfirmed(io: CommandIo): Promise<boolean> {
  if (!io.isStdinTTY) {
    throw new UsageError("standard input is no terminal: pass --yes to write the files");
  }
  return /^y(?:es)?$/i.test(await ask(io, "\nWrite them? [y/N] "));
}

async function ask({ err, signal, readLine }: CommandIo, question: string): Promise<string> {
  err.write(question);
  return (await untilAborted(signal, readLine())).trim();
}

/** Whether git ignores a file, or without a repository, whether `.gitignore` names it. */
async function isIgnored(folder: string, file: string): Promise<boolean> {
  const { status } = spawnSync("git", ["check-ignore", "--quiet", file], { cwd: folder });
  if (status === 0 || status === 1) return status === 0;
  if (!existsSync(path.join(folder, ".gitignore"))) return false;
  const lines = (await readFile(path.join(folder, ".gitignore"), "utf8")).split("\n");
  return lines.some((line) => [file, `/${file}`, `${file}*`].includes(line.trim()));
}

/** Throws `UsageError`, also if the file has come into being meanwhile. */
async function writeNew(file: string, content: string): Promise<void> {
  try {
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, content, { flag: "wx" });
  } catch (error) {
    throw new UsageError(fileFault(file, error));
  }
}

/** Adds the line unless it is there. Throws `UsageError` if the file cannot be read or written. */
async function addLine(file: string): Promise<void> {
  try {
    const text = await readFile(file, "utf8");
    const isEnded = text === "" || text.endsWith("\n");
    if (!text.includes(AGENTS.line))
      await appendFile(file, `${isEnded ? "" : "\n"}${AGENTS.line}\n`);
  } catch (error) {
    throw new UsageError(fileFault(file, error));
  }
}

function oneOf(names: readonly string[]): string {
  return `one of ${names.join(", ")}`;
}
