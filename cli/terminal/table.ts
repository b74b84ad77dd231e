import { stripVTControlCharacters } from "node:util";
import type { Format, Output } from "./command-io.js";

/** One cell: its text and, for a terminal with colours, its format. */
export type Cell = string | { readonly text: string; readonly format: Format | undefined };

/** One column. */
export interface Column {
  readonly title: string;
  readonly align?: "left" | "right";
  /** Shrinks when the terminal is too narrow. */
  readonly isFlexible?: boolean;
}

const GAP = "  ";
const MIN_FLEXIBLE = 12;

/** The lines of a table: cut to the width of a terminal, complete in a pipe. */
export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  { columns: width, style }: Output,
): readonly string[] {
  const whole = columns.map((column, at) => {
    const lengths = rows.map((row) => lengthOf(textOf(row[at])));
    return { ...column, width: Math.max(lengthOf(column.title), ...lengths) };
  });
  const wanted = whole.reduce((sum, column) => sum + column.width + GAP.length, -GAP.length);
  const excess = wanted - (width ?? Infinity);
  const fitted = whole.map((column) =>
    column.isFlexible && excess > 0
      ? { ...column, width: Math.max(column.width - excess, MIN_FLEXIBLE) }
      : column,
  );

  const lineOf = (cells: readonly Cell[], shownAs?: Format): string =>
    fitted
      .map(({ align, width }, at) => {
        const cell = cells[at];
        const text = fit(textOf(cell), width, align);
        const format = shownAs ?? (typeof cell === "object" ? cell.format : undefined);
        return format === undefined ? text : style(format, text);
      })
      .join(GAP)
      .trimEnd();
  const titles = columns.map(({ title }) => title);
  return [lineOf(titles, "dim"), ...rows.map((row) => lineOf(row))];
}

function textOf(cell: Cell = ""): string {
  return stripVTControlCharacters(typeof cell === "object" ? cell.text : cell);
}

/** Counts code points, so that an emoji shifts its row by one column at most. */
function lengthOf(text: string): number {
  return Array.from(text).length;
}

function fit(text: string, width: number, align: Column["align"]): string {
  const excess = lengthOf(text) - width;
  const letters = Array.from(text).slice(0, width - 1);
  if (excess > 0) return `${letters.join("")}…`;
  const space = " ".repeat(-excess);
  return align === "right" ? space + text : text + space;
}
