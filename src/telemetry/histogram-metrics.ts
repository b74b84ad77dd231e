import type { DurationName } from "../answer/observers.js";
import { STORE_CALLS } from "./tally.js";

/** A histogram of durations in seconds. */
export interface HistogramMetric {
  readonly name: string;
  readonly description: string;
  /** Upper bounds of the buckets. */
  readonly bounds: readonly number[];
  /** The attributes of its series; undefined if it has none. */
  readonly series?: readonly Readonly<Record<string, string>>[];
}

const DURATION_BOUNDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 60, 300, 900,
];

/** The histograms. They have no attributes but `operation`: one attribute costs 0.5 µs a record in the SDK. */
export const HISTOGRAMS: Readonly<Record<DurationName, HistogramMetric>> = {
  receive: {
    name: "gateway_webhook.receive.duration",
    bounds: DURATION_BOUNDS,
    description: "From the arrival of an authentic delivery to its answer",
  },
  handler: {
    name: "gateway_webhook.handler.duration",
    bounds: DURATION_BOUNDS,
    description: "From the call of a handler until it settled",
  },
  lag: {
    name: "gateway_webhook.delivery.lag",
    description: "From created_at of an alarm to the signed timestamp",
    // Between the attempts of the gateway's schedule, and its limits of 4, 12, 24 and 36 hours.
    bounds: [
      5, 10, 35, 100, 260, 630, 1_600, 3_900, 9_700, 14_400, 24_000, 43_200, 86_400, 129_600,
    ],
  },
  store: {
    name: "gateway_webhook.store.duration",
    bounds: DURATION_BOUNDS,
    description: "Asynchronous calls of the store, by operation",
    series: STORE_CALLS.map((operation) => ({ operation })),
  },
};

/** Makes one thing for each histogram. */
export function forHistograms<Made>(
  make: (metric: HistogramMetric) => Made,
): Readonly<Record<DurationName, Made>> {
  const { receive, handler, lag, store } = HISTOGRAMS;
  return { receive: make(receive), handler: make(handler), lag: make(lag), store: make(store) };
}
