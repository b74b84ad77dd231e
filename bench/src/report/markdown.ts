import type { Table } from "./part-result.js";

/** A Markdown table with a title. All columns except the first are aligned right. */
export function renderTable({ title, columns, rows, notes = [] }: Table): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const rule = line(columns.map((_, at) => (at === 0 ? "---" : "---:")));
  const bullets = notes.length === 0 ? [] : [...notes.map((note) => `- ${note}`), ""];
  return [`### ${title}`, "", line(columns), rule, ...rows.map(line), "", ...bullets].join("\n");
}

/** A ratio in the format of the tables. */
export function ratio(value: number): string {
  return value.toFixed(2);
}

/** Nanoseconds in a readable unit, with three digits. */
export function duration(ns: number): string {
  if (ns >= 1e6) return `${(ns / 1e6).toPrecision(3)} ms`;
  if (ns >= 1e3) return `${(ns / 1e3).toPrecision(3)} µs`;
  return `${ns.toPrecision(3)} ns`;
}
