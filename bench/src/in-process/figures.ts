import type { BodySize } from "../deliveries.js";

/** One comparison: of which case the time is taken, in each round, to which other case. */
export interface Comparison {
  readonly size: BodySize;
  readonly of: string;
  readonly to: string;
}

/** What a process has measured. */
export interface Figure extends Comparison {
  /** The median of the ratios of the same round. */
  readonly ratio: number;
  /** The median of each, in nanoseconds per operation. */
  readonly ofNs: number;
  readonly toNs: number;
}

/** How much a process measures. */
export interface Effort {
  readonly sizes: readonly BodySize[];
  readonly rounds: number;
}
