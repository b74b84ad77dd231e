import type { TargetName } from "../targets.js";

/** A table of text, ready to be printed. */
export interface Table {
  readonly title: string;
  /** The heading of each column. The first column names the row. */
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** Sentences below the table. */
  readonly notes?: readonly string[];
}

/** The times of a chart: each relative to the floor. */
export type Bars = Readonly<Record<string, number>>;

/** The results of one part of the benchmark under one Node. */
export interface PartResult {
  /** The measured value of each target that this part measures. */
  readonly values: Partial<Record<TargetName, number>>;
  readonly tables: readonly Table[];
  readonly bars?: Bars;
}
