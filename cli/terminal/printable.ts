import { escapeUnprintable } from "../../kit/unprintable.js";
import type { Output } from "./command-io.js";

const BAR = "│ ";
/** A quote is at least this wide, also on a narrow terminal. */
const MIN_QUOTED_COLUMNS = 20;

/**
 * Makes foreign text (an answer, a captured request) safe to show: without this the terminal would obey an
 * escape sequence in it. Newlines stay.
 */
export function printable(text: string): string {
  return escapeUnprintable(text.replaceAll("\t", "  "));
}

/** The same on one line of at most `maxLength` characters. */
export function printableLine(text: string, maxLength = 200): string {
  const line = printable(text).replaceAll("\n", "\\n");
  return line.length > maxLength ? `${line.slice(0, maxLength - 1)}…` : line;
}

/**
 * Quotes foreign text: each line starts with `indent` and a bar, so that none looks like a line of this
 * program. Breaks long lines: a terminal would continue them at the left edge.
 */
export function quotedLines(text: string, indent: string, columns = Infinity): readonly string[] {
  const head = indent + BAR;
  const width = Math.max(columns - head.length, MIN_QUOTED_COLUMNS);
  return printable(text)
    .split("\n")
    .flatMap((line) => broken(line, width))
    .map((line) => head + line);
}

/** Pieces of at most `width` columns. Any character outside of ASCII counts as two. */
function broken(line: string, width: number): readonly string[] {
  if (width === Infinity) return [line];
  const pieces: string[] = [];
  let piece = "";
  let taken = 0;
  for (const char of line) {
    const columns = char <= "~" ? 1 : 2;
    if (taken + columns > width) {
      pieces.push(piece);
      piece = "";
      taken = 0;
    }
    piece += char;
    taken += columns;
  }
  return [...pieces, piece];
}

/** A number with its noun: `1 finding`, `2 findings`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** The parts that are given, with commas between them. */
export function joined(parts: readonly (string | false | undefined)[]): string {
  return parts.filter((part) => part !== false && part !== undefined).join(", ");
}

/** Writes a result as one JSON document. Unprintable characters are escaped. */
export function writeJson({ write }: Output, document: unknown): void {
  write(`${escapeUnprintable(JSON.stringify(document, null, 2))}\n`);
}

/** Writes one of several results: with `json` as a JSON line, otherwise as a line of text. */
export function writeEvent(output: Output, json: boolean, event: object, line: string): void {
  if (json) writeJsonLine(output, event);
  else output.write(`${line}\n`);
}

/** Writes one of several results as a JSON line. Unprintable characters are escaped. */
export function writeJsonLine({ write }: Output, document: unknown): void {
  write(`${escapeUnprintable(JSON.stringify(document))}\n`);
}
