import type { HistogramMetric } from "./histogram-metrics.js";

/** The counts of a histogram. */
interface Buckets {
  /** How many values lie in each bucket; the last one has no bound. */
  readonly counts: number[];
  sum: number;
}

/** A histogram with fixed buckets, one for each value of an attribute. */
export class BucketHistogram {
  readonly metric: HistogramMetric;
  /** By the values of the attributes, as JSON. */
  readonly series = new Map<string, Buckets>();
  readonly #first: Buckets | undefined;

  constructor(metric: HistogramMetric) {
    this.metric = metric;
    if (metric.series === undefined) this.#first = this.#bucketsOf("{}");
    else for (const one of metric.series) this.#bucketsOf(JSON.stringify(one));
  }

  record(seconds: number, attributes?: Readonly<Record<string, string>>): void {
    const buckets = this.#first ?? this.#bucketsOf(JSON.stringify(attributes));
    const { counts } = buckets;
    const { bounds } = this.metric;
    let at = 0;
    while (at < bounds.length && seconds > (bounds[at] ?? 0)) at += 1;
    counts[at] = (counts[at] ?? 0) + 1;
    buckets.sum += seconds;
  }

  #bucketsOf(key: string): Buckets {
    const known = this.series.get(key);
    if (known !== undefined) return known;
    const made = { counts: [...this.metric.bounds, Infinity].map(() => 0), sum: 0 };
    this.series.set(key, made);
    return made;
  }
}
