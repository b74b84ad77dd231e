import { asksForHelp, parseArguments } from "./options/arguments.js";
import type { CommandIo, Output } from "./terminal/command-io.js";
import { EXIT, UsageError } from "./exit.js";
import { helpOf, type CommandHelp } from "./help-text.js";
import type { OptionSpecs, Values } from "./options/option-specs.js";

/** A command as its file defines it. */
export interface CommandDefinition<Specs extends OptionSpecs> extends CommandHelp<Specs> {
  /** How many arguments it takes besides its options. Default: one. */
  readonly positionals?: { readonly min: number; readonly max: number };
  /** Resolves to the exit code. Throws `UsageError` for a mistake that only this command can find. */
  readonly run: (
    io: CommandIo,
    values: Values<Specs>,
    positionals: readonly string[],
  ) => Promise<number>;
}

/** A command as the command line runs it. */
export interface Command {
  readonly name: string;
  readonly summary: string;
  readonly help: (output: Output) => string;
  /** For a group: the command that a word names. Throws `UsageError` if there is none. */
  readonly commandOf?: (word: string) => Command;
  /** Resolves to the exit code. */
  readonly start: (io: CommandIo, argv: readonly string[]) => Promise<number>;
}

/** Makes a command from its definition. The command reads its arguments and answers `--help`. */
export function createCommand<Specs extends OptionSpecs>(
  definition: CommandDefinition<Specs>,
): Command {
  const { name, summary, usage, options, run } = definition;
  const { min, max } = definition.positionals ?? { min: 1, max: 1 };
  const help: Command["help"] = (output) => helpOf(definition, output);
  return {
    name,
    summary,
    help,
    async start(io, argv) {
      if (asksForHelp(argv)) {
        io.out.write(help(io.out));
        return EXIT.passed;
      }
      const { values, positionals } = parseArguments(options, argv);
      // The message counts the arguments and does not repeat them: one may be a secret without its option.
      const count = positionals.length;
      if (count < min) throw new UsageError(`missing argument: ${usage}`);
      if (count > max) {
        throw new UsageError(`too many arguments: ${count} given, expected ${usage}`);
      }
      return run(io, values, positionals);
    },
  };
}
