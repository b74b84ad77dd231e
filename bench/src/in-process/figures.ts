import type { BodySize } from "../deliveries.js";

/** One comparison: the time of one case divided by the time of another in the same round. */
export interface Comparison {
  readonly size: BodySize;
  readonly of: string;
  readonly to: string;
}

/** The results of a process. */
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
