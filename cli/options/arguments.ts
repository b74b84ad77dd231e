import { parseArgs } from "node:util";
import { hintOf } from "./nearest-name.js";
import type { OptionSpec, OptionSpecs, Values, WholeSpec } from "./option-specs.js";
import { UsageError } from "../exit.js";

/** Whether the arguments contain `--help`, even if they are wrong otherwise. */
export function asksForHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  const before = end === -1 ? argv : argv.slice(0, end);
  return before.includes("--help") || before.includes("-h");
}

/**
 * Reads the arguments of a command. Throws `UsageError` for an unknown option and an invalid value. The
 * message never repeats a text value, since it may be a secret.
 */
export function parseArguments<Specs extends OptionSpecs>(specs: Specs, argv: readonly string[]) {
  const rules = Object.entries(specs).map(([name, { kind }]) => {
    return [name, { type: kind === "flag" ? "boolean" : "string" }] as const;
  });
  // Not strict: its own errors have several lines and suggest no similar name.
  const { tokens, positionals } = parseArgs({
    args: [...argv],
    options: Object.fromEntries(rules),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const given = new Map<string, string[]>();
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const { name, rawName, value, inlineValue } = token;
    const spec = Object.hasOwn(specs, name) ? specs[name] : undefined;
    if (spec === undefined || !rawName.startsWith("--")) {
      const hint = hintOf(name, Object.keys(specs), "--");
      throw new UsageError(`unknown option ${shownOption(rawName)}${hint}`);
    }
    const values = given.get(name) ?? [];
    values.push(checkedText(name, spec, value, inlineValue ?? false));
    if (values.length > 1 && spec.kind !== "list" && spec.kind !== "flag") {
      throw new UsageError(`--${name} was given twice`);
    }
    given.set(name, values);
  }
  const values = Object.entries(specs).map(([name, spec]) => {
    return [name, valueOf(name, spec, given.get(name))];
  });
  return { values: Object.fromEntries(values) as Values<Specs>, positionals };
}

/** The name of an option for a message, without its value, which may be a secret. */
export function shownOption(text: string): string {
  const [name = ""] = /^-*\w[\w-]{0,24}/.exec(text) ?? ["-"];
  return name;
}

function checkedText(name: string, spec: OptionSpec, value: string | undefined, isInline: boolean) {
  if (spec.kind === "flag") {
    if (isInline) throw new UsageError(`--${name} takes no value`);
    return "";
  }
  if (value === undefined) throw new UsageError(`--${name} needs a value: ${spec.value}`);
  // The next word is another option, not a value.
  if (!isInline && /^-./.test(value) && !/^-[0-9]/.test(value)) {
    throw new UsageError(
      `--${name} needs a value; write a value that begins with a dash as --${name}=-…`,
    );
  }
  return value;
}

function valueOf(name: string, spec: OptionSpec, given: readonly string[] | undefined): unknown {
  const [text] = given ?? [];
  switch (spec.kind) {
    case "flag":
      return given !== undefined;
    case "list":
      return given ?? [];
    case "text":
      if (text !== undefined && spec.choices !== undefined && !spec.choices.includes(text)) {
        const choices = spec.choices.join(", ");
        throw new UsageError(`--${name} must be one of ${choices}${hintOf(text, spec.choices)}`);
      }
      return text;
    case "whole":
      return text === undefined ? spec.fallback : wholeNumber(name, spec, text);
  }
}

function wholeNumber(name: string, { min, max }: WholeSpec, text: string): number {
  const value = /^-?[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new UsageError(`--${name} must be a whole number from ${min} to ${max}`);
}
