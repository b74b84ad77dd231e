import type { Format, Output } from "./command-io.js";

const MAX_COLUMNS = 100;

/** The width of a text: that of the terminal, at most 100 columns. `inPipe`: the width without a terminal. */
export function textWidth({ columns }: Pick<Output, "columns">, inPipe = MAX_COLUMNS): number {
  return Math.min(columns ?? inPipe, MAX_COLUMNS);
}

/** Breaks a text between words into lines of at most `width` characters. */
export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

/** The lines of a text after `head`, the later ones indented below the first, all within `width`. */
export function hanging(
  head: string,
  text: string,
  width: number,
  shownHead = (part: string) => part,
): readonly string[] {
  const indent = " ".repeat(head.length);
  return wrap(text, width - head.length).map(
    (line, at) => shownHead(at === 0 ? head : indent) + line,
  );
}

/** The lines of a text after a label of its format, in a column of its own. */
export function labelled(
  { style }: Output,
  [indent, label, format]: readonly [indent: string, label: string, format: Format],
  text: string,
  width: number,
): readonly string[] {
  return hanging(label, text, width - indent.length, (part) => indent + style(format, part));
}
