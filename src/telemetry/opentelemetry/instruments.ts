import type { BatchObservableResult, Meter, MeterProvider } from "@opentelemetry/api";
import type { JobReport } from "../telemetry.js";
import { HISTOGRAMS, RECEIVER_METRICS, type Metric, type Series } from "../metrics.js";
import { talliedType, type Tally } from "../tally.js";
import type { DurationRecorder } from "../../answer/observers.js";
import type { Timings } from "../timings.js";

/** The name of our meter and our tracer. */
export const SCOPE = "identity-gateway-webhooks";

const JOB_OUTCOMES = ["handled", "discarded", "retry_later", "handler_failed", "dead"] as const;
const JOB_TYPES = ["new_alarm", "delete_my_data_event", "other"] as const;

/** Runs of jobs, by type and outcome. */
export class JobTally {
  readonly #counts = new Map(
    JOB_TYPES.map((type) => [
      type as string,
      new Map<string, number>(JOB_OUTCOMES.map((one) => [one, 0])),
    ]),
  );

  count({ outcome, type = "other" }: Pick<JobReport, "outcome" | "type">): void {
    const counts = this.#counts.get(talliedType(type));
    counts?.set(outcome, (counts.get(outcome) ?? 0) + 1);
  }

  series(): Series[] {
    return [...this.#counts].flatMap(([type, counts]) =>
      [...counts].map(([outcome, value]) => ({ attributes: { outcome, type }, value })),
    );
  }
}

/** The metrics of workers. */
export const JOB_METRICS = [
  {
    ...{ name: "gateway_webhook.jobs", unit: "{run}" },
    description: "Runs of jobs by outcome and webhook type",
    read: (jobs: JobTally): readonly Series[] => jobs.series(),
  },
  {
    ...{ name: "gateway_webhook.jobs.dead", unit: "{job}" },
    description: "Jobs that the queue engine does not run again",
    read: (jobs: JobTally): readonly Series[] =>
      jobs
        .series()
        .filter(({ attributes }) => attributes["outcome"] === "dead")
        .map(({ attributes: { type = "" }, value }) => ({ attributes: { type }, value })),
  },
];

/**
 * The instruments of one meter provider. Counters are tallies that are read when they are exported, which
 * takes no time of a delivery; only histograms are recorded at once, since the API has no other way.
 */
export class Instruments {
  readonly #tallies: Tally[] = [];
  readonly #jobs = new JobTally();
  readonly #timings: Timings;

  constructor(provider: MeterProvider) {
    const meter = provider.getMeter(SCOPE);
    this.#timings = {
      receive: histogram(meter, "receive"),
      handler: histogram(meter, "handler"),
      lag: histogram(meter, "lag"),
      store: histogram(meter, "store"),
    };
    const received = RECEIVER_METRICS.map((metric) => {
      const { name, kind, unit, description } = metric;
      const options = { unit, description };
      const instrument =
        kind === "counter"
          ? meter.createObservableCounter(name, options)
          : meter.createObservableGauge(name, options);
      return { instrument, read: () => combined(metric, this.#tallies) };
    });
    const worked = JOB_METRICS.map(({ name, unit, description, read }) => {
      const instrument = meter.createObservableCounter(name, { unit, description });
      return { instrument, read: () => read(this.#jobs) };
    });
    const all = [...received, ...worked];
    const observe = (result: BatchObservableResult): void => {
      for (const { instrument, read } of all) {
        for (const { attributes, value } of read()) result.observe(instrument, value, attributes);
      }
    };
    meter.addBatchObservableCallback(
      observe,
      all.map(({ instrument }) => instrument),
    );
  }

  /** Exports the numbers of a receiver from now on. */
  connect(tally: Tally): void {
    this.#tallies.push(tally);
    tally.attach(this.#timings);
  }

  countJob(report: JobReport): void {
    this.#jobs.count(report);
  }
}

/** A histogram of the SDK. An error of it must not become that of a delivery. */
function histogram(meter: Meter, key: keyof Timings): DurationRecorder {
  const { name, unit, description, bounds } = HISTOGRAMS[key];
  const advice = { explicitBucketBoundaries: [...bounds] };
  const made = meter.createHistogram(name, { unit, description, advice });
  return {
    record(seconds, attributes) {
      try {
        made.record(seconds, attributes);
      } catch {
        // Nothing to do about it here: an SDK tells of its faults itself.
      }
    },
  };
}

/** The series of all receivers: two with the same attributes would hide each other. */
function combined({ read, combine }: Metric, tallies: readonly Tally[]): Iterable<Series> {
  const byKey = new Map<string, Series>();
  for (const { attributes, value } of tallies.flatMap(read)) {
    const key = JSON.stringify(attributes);
    const before = byKey.get(key)?.value ?? 0;
    byKey.set(key, {
      attributes,
      value: combine === "sum" ? before + value : Math.max(before, value),
    });
  }
  return byKey.values();
}
