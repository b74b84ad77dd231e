/** What is measured, each beside the same receiver without it. */
export const VARIANTS = {
  nothing: "no telemetry",
  before: "the tally: this build ÷ the one before",
  text: "metricsText, read once",
  metrics: "openTelemetry({ spans: false }) with an SDK",
  noop: "openTelemetry() without an SDK",
  spans: "openTelemetry() with an SDK, metrics and spans",
  byHand: "the same metrics, and the same spans by hand",
  spansToByHand: "openTelemetry() with an SDK ÷ the same spans by hand",
} as const;

export type Variant = keyof typeof VARIANTS;

/** What a process measures. */
export interface PairRequest {
  readonly variant: Variant;
  readonly rounds: number;
  /** A folder with another build in `dist/`, for `before`. */
  readonly before?: string | undefined;
}

export interface PairResult {
  /** The median of the ratios of the same round. */
  readonly ratio: number;
  readonly baseNs: number;
  readonly ownNs: number;
}
