import { asksForHelp, parseArguments } from "./options/arguments.js";
import type { CommandIo, Output } from "./terminal/command-io.js";
import { EXIT } from "./terminal/exit-codes.js";
import { helpOf } from "./help-text.js";
import type { OptionSpecs, Values } from "./options/option-specs.js";
import { UsageError } from "./options/usage-error.js";

/** A command as its file writes it. */
export interface CommandDefinition<Specs extends OptionSpecs> {
  readonly name: string;
  /** One phrase, for the list of commands. */
  readonly summary: string;
  /** What stands behind the name, such as `<url>`. */
  readonly usage: string;
  /** How many arguments it takes beside its options. */
  readonly positionals: { readonly min: number; readonly max: number };
  /** Paragraphs of the help: what it does, what it exits with, what `--json` writes. */
  readonly about: readonly string[];
  readonly options: Specs;
  readonly examples: readonly { readonly does: string; readonly command: string }[];
  /** Resolves to the exit code. Throws `UsageError` for what only it can check. */
  readonly run: (
    io: CommandIo,
    values: Values<Specs>,
    positionals: readonly string[],
  ) => Promise<number>;
}

/** A command as the command line knows it. */
export interface Command {
  readonly name: string;
  readonly summary: string;
  readonly help: (output: Output) => string;
  /** Resolves to the exit code. */
  readonly start: (io: CommandIo, argv: readonly string[]) => Promise<number>;
}

/** Makes a command of its definition: reads the arguments, and answers `--help`. */
export function createCommand<Specs extends OptionSpecs>(
  definition: CommandDefinition<Specs>,
): Command {
  const { name, summary, usage, positionals: wanted, options, run } = definition;
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
      // Counted and not repeated: one of them may be a secret whose option was forgotten.
      const count = positionals.length;
      if (count < wanted.min) throw new UsageError(`what is missing: ${usage}`);
      if (count > wanted.max) {
        throw new UsageError(`${count} arguments are given, where it takes: ${usage}`);
      }
      return run(io, values, positionals);
    },
  };
}
