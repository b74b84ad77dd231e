import type { Output } from "./command-io.js";

/**
 * What a terminal obeys or does not show: control characters but the newline, line separators, and all
 * that is invisible, such as zero-width characters and what turns the direction of writing.
 */
const UNPRINTABLE = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{DI}]/gu;

const BAR = "│ ";
/** Less is not worth a line. */
const MIN_QUOTED_COLUMNS = 20;

/** A text with what is unprintable as JSON spells it: `\u202e`. Newlines stay. */
export function spelledOut(text: string): string {
  return text.replace(UNPRINTABLE, (char) =>
    char
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

/**
 * A text of a stranger (an answer, a captured request) with its control characters spelt out: an escape
 * sequence in it would otherwise be obeyed by the terminal. Newlines stay.
 */
export function printable(text: string): string {
  return spelledOut(text.replaceAll("\t", "  "));
}

/** The same on one line, of at most `maxLength` characters. */
export function printableLine(text: string, maxLength = 200): string {
  const line = printable(text).replaceAll("\n", "\\n");
  return line.length > maxLength ? `${line.slice(0, maxLength - 1)}…` : line;
}

/**
 * A stranger's text of many lines, each behind `indent` and a bar, so that none passes for a line of
 * ours. A long one is broken here: a terminal would begin its rest at the left edge.
 */
export function quotedLines(text: string, indent: string, columns = Infinity): readonly string[] {
  const head = indent + BAR;
  const width = Math.max(columns - head.length, MIN_QUOTED_COLUMNS);
  return printable(text)
    .split("\n")
    .flatMap((line) => broken(line, width))
    .map((line) => head + line);
}

/** Pieces of at most `width` columns, of which any character but an ASCII one may take two. */
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

/** Writes a result as one JSON document. Unprintable characters are escaped. */
export function writeJson({ write }: Output, document: unknown): void {
  write(`${spelledOut(JSON.stringify(document, null, 2))}\n`);
}

/** Writes one of several results as a JSON line. Unprintable characters are escaped. */
export function writeJsonLine({ write }: Output, document: unknown): void {
  write(`${spelledOut(JSON.stringify(document))}\n`);
}
