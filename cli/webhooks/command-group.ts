import { ManagementError } from "../../src/management/management-error.js";
import type { Command } from "../command.js";
import { EXIT, UsageError } from "../exit.js";
import { PROGRAM, columnsOf, exampleOf } from "../help-text.js";
import { hintOf } from "../options/nearest-name.js";
import type { Output } from "../terminal/command-io.js";
import { printableLine, writeJson } from "../terminal/printable.js";
import { wrap } from "../terminal/wrap.js";

/** A command whose first argument names one of several others: `webhooks check`. */
export interface CommandGroup {
  readonly name: string;
  readonly summary: string;
  /** Paragraphs for its help. */
  readonly about: readonly string[];
  /** Their names begin with the name of the group. */
  readonly commands: readonly Command[];
  /** What follows the name of the program in an example. */
  readonly example: string;
}

/** Makes a command of a group. A `ManagementError` of its commands is a failure and no bug. */
export function createCommandGroup(group: CommandGroup): Command {
  const { name, summary, about, commands, example } = group;
  const shortNameOf = (command: Command): string => command.name.slice(name.length + 1);
  const help = ({ style, columns = 80 }: Output): string => {
    const rows = commands.map((one) => [shortNameOf(one), one.summary] as const);
    return [
      style("bold", `${PROGRAM} ${name}`),
      ...wrap(summary, columns),
      "",
      `Usage: ${PROGRAM} ${name} <command> [options]`,
      "",
      ...columnsOf(rows, columns),
      "",
      ...about.flatMap((paragraph) => [...wrap(paragraph, columns), ""]),
      style("bold", "Examples"),
      ...exampleOf(example, columns),
      "",
    ].join("\n");
  };
  const commandOf = (word: string): Command => {
    const command = commands.find((one) => shortNameOf(one) === word);
    if (command !== undefined) return command;
    const names = commands.map(shortNameOf);
    const hint = word.startsWith("-") ? "" : hintOf(word, names);
    throw new UsageError(`${name} needs a command: ${names.join(", ")}${hint}`);
  };
  return {
    name,
    summary,
    help,
    commandOf,
    async start(io, [first = "", ...rest]) {
      if (["--help", "-h", "help"].includes(first)) {
        const word = first === "help" ? rest[0] : undefined;
        io.out.write((word === undefined ? { help } : commandOf(word)).help(io.out));
        return EXIT.passed;
      }
      const command = commandOf(first);
      try {
        return await command.start(io, rest);
      } catch (error) {
        if (!(error instanceof ManagementError)) throw error;
        io.signal.throwIfAborted();
        const { code, message, status = null } = error;
        if (rest.includes("--json")) writeJson(io.out, { error: { code, message, status } });
        const shown = printableLine(message, 1_000);
        io.err.write(`${io.err.style("red", command.name)}: ${shown} (${code})\n`);
        return EXIT.failed;
      }
    },
  };
}
