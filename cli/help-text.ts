import type { Output } from "./terminal/command-io.js";
import { hanging, textWidth, wrap } from "./terminal/wrap.js";
import type { OptionSpec, OptionSpecs } from "./options/option-specs.js";

/** The name of the program in its help and errors. */
export const PROGRAM = "identity-gateway-webhooks";

const INDENT = "  ";

/** The parts of a command that its help shows. */
export interface CommandHelp<Specs extends OptionSpecs = OptionSpecs> {
  readonly name: string;
  /** One phrase, for the list of commands. */
  readonly summary: string;
  /** The arguments after the name, such as `<url>`. */
  readonly usage: string;
  /** Paragraphs: what the command does, its exit codes, what `--json` writes. */
  readonly about: readonly string[];
  readonly options: Specs;
  /** Each command by what it does. */
  readonly examples: Readonly<Record<string, string>>;
}

/** The help of one command. */
export function helpOf(help: CommandHelp, output: Output): string {
  const { style } = output;
  const { name, usage, summary, about, options, examples } = help;
  const width = textWidth(output, 80);
  const rows = [...Object.entries(options).map(rowOf), ["--help", "Shows this help."] as const];
  return [
    style("bold", `${PROGRAM} ${name}`),
    ...wrap(summary, width),
    "",
    ["Usage:", PROGRAM, name, usage, "[options]"].filter((part) => part !== "").join(" "),
    "",
    ...about.flatMap((paragraph) => [...wrap(paragraph, width), ""]),
    style("bold", "Options"),
    ...columnsOf(rows, width),
    "",
    style("bold", "Examples"),
    ...Object.entries(examples).flatMap(([does, command]) => [
      style("dim", `${INDENT}# ${does}`),
      ...exampleOf(command, width),
    ]),
    "",
  ].join("\n");
}

/** The lines of an example, broken so that a shell takes them as one. No argument of an example has a space in it. */
export function exampleOf(command: string, width: number): readonly string[] {
  const text = `npx ${PROGRAM} ${command.replace(/ \\\n +/g, " ")}`;
  const lines = wrap(text, width - 2 * INDENT.length - " \\".length);
  return lines.map((line, at) => {
    const end = at === lines.length - 1 ? "" : " \\";
    return `${at === 0 ? INDENT : INDENT.repeat(2)}${line}${end}`;
  });
}

/** Two columns. The second one wraps. */
export function columnsOf(
  rows: readonly (readonly [name: string, text: string])[],
  width: number,
): readonly string[] {
  const first = Math.max(...rows.map(([name]) => name.length));
  return rows.flatMap(([name, text]) => {
    const head = `${INDENT}${name.padEnd(first + 2)}`;
    return hanging(head, text, Math.max(width, head.length + 30));
  });
}

function rowOf([name, spec]: [string, OptionSpec]): readonly [string, string] {
  if (spec.kind === "flag") return [`--${name}`, spec.help];
  const fallback = spec.kind === "whole" ? spec.fallback : undefined;
  const bounds = spec.kind === "whole" ? ` From ${spec.min} to ${spec.max}.` : "";
  const preset = fallback === undefined ? "" : ` Default ${fallback}.`;
  const choices = spec.kind === "text" && spec.choices ? ` ${spec.choices.join(", ")}.` : "";
  return [`--${name} ${spec.value}`, `${spec.help}${choices}${bounds}${preset}`];
}
