import {
  TARGET_NAMES,
  isMet,
  targetOf,
  whyMissed,
  type Target,
  type TargetName,
} from "../targets.js";
import { ratio } from "./markdown.js";
import type { Bars, PartResult, Table } from "./part-result.js";

/** All results under one Node. */
export interface RuntimeResult {
  /** The name of that Node in the tables. */
  readonly label: string;
  readonly parts: readonly PartResult[];
}

/** The values of one Node, of all parts. */
function valueOf({ parts }: RuntimeResult, name: TargetName): number | undefined {
  return parts.map(({ values }) => values[name]).find((value) => value !== undefined);
}

/**
 * Every target that was measured: its value under each Node, its bounds, and the result of the worst. A note
 * says why a bound is missed.
 */
export function summaryTable(results: readonly RuntimeResult[]): Table {
  const notes: string[] = [];
  const rows: string[][] = [];
  for (const name of TARGET_NAMES) {
    const values = results.map((result) => valueOf(result, name));
    const measured = values.filter((value) => value !== undefined);
    if (measured.length === 0) continue;
    const target = targetOf(name);
    const result = isMet(target, Math.max(...measured)) ? "met" : "MISSED";
    if (result === "MISSED") notes.push(`MISSED, ${target.label}: ${whyMissed(target)}`);
    rows.push([
      target.label,
      ...values.map((value) => (value === undefined ? "" : show(target, value))),
      `≤ ${show(target, target.must)}`,
      result,
    ]);
  }
  return {
    title: "Ours ÷ the other, smaller is better",
    columns: ["1 KB alarm: ours to", ...results.map(({ label }) => label), "must", "result"],
    rows,
    notes,
  };
}

function show({ unit }: Target, value: number): string {
  return unit === undefined ? ratio(value) : `${value.toFixed(0)} ${unit}`;
}

/** The bars of the chart, by Node. */
export function barsOf(results: readonly RuntimeResult[]): ReadonlyMap<string, Bars> {
  return new Map(
    results.map(({ label, parts }) => [
      label,
      parts.find(({ bars }) => bars !== undefined)?.bars ?? {},
    ]),
  );
}
