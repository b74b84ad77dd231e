import type { DurationRecorder } from "../answer/observers.js";

/** The durations that a receiver measures if anyone wants them. */
export interface Timings {
  /** From the arrival of an authentic delivery to its answer. */
  readonly receive: DurationRecorder;
  /** From the call of a handler until it settles. */
  readonly handler: DurationRecorder;
  /** From `created_at` of an alarm to X-Webhook-Timestamp: how long the gateway has been trying. */
  readonly lag: DurationRecorder;
  /** An asynchronous call of the store, with the attribute `operation`. */
  readonly store: DurationRecorder;
}

/** Records each duration twice. */
export function both(one: Timings, other: Timings): Timings {
  const pair = (name: keyof Timings): DurationRecorder => ({
    record(seconds, attributes) {
      one[name].record(seconds, attributes);
      other[name].record(seconds, attributes);
    },
  });
  return {
    receive: pair("receive"),
    handler: pair("handler"),
    lag: pair("lag"),
    store: pair("store"),
  };
}

/** The counts of a histogram. */
export interface Buckets {
  /** Upper bounds in seconds. */
  readonly bounds: readonly number[];
  /** How many values lie in each bucket; the last one has no bound. */
  readonly counts: number[];
  sum: number;
}

/** A histogram with fixed buckets, one for each value of an attribute. */
export class BucketHistogram implements DurationRecorder {
  /** By the values of the attributes, as JSON. */
  readonly series = new Map<string, Buckets>();
  readonly #bounds: readonly number[];
  readonly #first: Buckets | undefined;

  constructor(bounds: readonly number[], attributes?: readonly Readonly<Record<string, string>>[]) {
    this.#bounds = bounds;
    if (attributes === undefined) this.#first = this.#bucketsOf("{}");
    else for (const one of attributes) this.#bucketsOf(JSON.stringify(one));
  }

  record(seconds: number, attributes?: Readonly<Record<string, string>>): void {
    const buckets = this.#first ?? this.#bucketsOf(JSON.stringify(attributes));
    const { bounds, counts } = buckets;
    let at = 0;
    while (at < bounds.length && seconds > (bounds[at] ?? 0)) at += 1;
    counts[at] = (counts[at] ?? 0) + 1;
    buckets.sum += seconds;
  }

  #bucketsOf(key: string): Buckets {
    const known = this.series.get(key);
    if (known !== undefined) return known;
    const bounds = this.#bounds;
    const made = { bounds, counts: Array.from({ length: bounds.length + 1 }, () => 0), sum: 0 };
    this.series.set(key, made);
    return made;
  }
}
