import type { BatchObservableResult, Meter, MeterProvider } from "@opentelemetry/api";
import type { JobReport, MeasuredQueue } from "../telemetry.js";
import { forHistograms } from "../histogram-metrics.js";
import { RECEIVER_METRICS, type Metric, type Series } from "../metrics.js";
import type { MeasuredReceiver } from "../tally.js";
import type { DurationRecorder } from "../../answer/observers.js";
import { JOB_METRICS, JobTally, QUEUE_METRICS, QueueStates } from "./job-metrics.js";

/** The name of our meter and our tracer. */
export const SCOPE = "identity-gateway-webhooks";

/**
 * The instruments of one meter provider. Counters are tallies that are read when they are exported, which
 * takes no time of a delivery; only histograms are recorded at once, since the API has no other way.
 */
export class Instruments {
  readonly #receivers: MeasuredReceiver[] = [];
  readonly #jobs = new JobTally();
  readonly #queues = new QueueStates();
  readonly #durations: DurationRecorder;

  constructor(provider: MeterProvider) {
    const meter = provider.getMeter(SCOPE);
    this.#durations = durationsOf(meter);
    const received = RECEIVER_METRICS.map((metric) => {
      const { name, kind, unit, description } = metric;
      const options = { unit, description };
      const instrument =
        kind === "counter"
          ? meter.createObservableCounter(name, options)
          : meter.createObservableGauge(name, options);
      return { instrument, read: () => combined(metric, this.#receivers) };
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
    const queued = QUEUE_METRICS.map(({ name, unit, description, read }) => ({
      instrument: meter.createObservableGauge(name, { unit, description }),
      read,
    }));
    meter.addBatchObservableCallback(
      async (result) => {
        for (const [queue, state] of await this.#queues.read()) {
          for (const { instrument, read } of queued) {
            for (const { attributes, value } of read(state)) {
              result.observe(instrument, value, { queue, ...attributes });
            }
          }
        }
      },
      queued.map(({ instrument }) => instrument),
    );
  }

  /** Exports the numbers of a receiver from now on. */
  connect(receiver: MeasuredReceiver): void {
    this.#receivers.push(receiver);
    receiver.tally.attach(this.#durations);
  }

  /** Exports the state of a queue from now on. */
  connectQueue(queue: MeasuredQueue): void {
    this.#queues.add(queue);
  }

  countJob(report: JobReport): void {
    this.#jobs.count(report);
  }
}

/** The histograms of the SDK. An error of theirs must not become that of a delivery. */
function durationsOf(meter: Meter): DurationRecorder {
  const made = forHistograms(({ name, description, bounds }) => {
    const advice = { explicitBucketBoundaries: [...bounds] };
    return meter.createHistogram(name, { unit: "s", description, advice });
  });
  return {
    record(name, seconds, attributes) {
      try {
        made[name].record(seconds, attributes);
      } catch {
        // Nothing to do about it here: an SDK tells of its faults itself.
      }
    },
  };
}

/** The series of all receivers: two with the same attributes would hide each other. */
function combined(
  { read, combine }: Metric,
  receivers: readonly MeasuredReceiver[],
): Iterable<Series> {
  const byKey = new Map<string, Series>();
  for (const { attributes, value } of receivers.flatMap(read)) {
    const key = JSON.stringify(attributes);
    const before = byKey.get(key)?.value ?? 0;
    byKey.set(key, {
      attributes,
      value: combine === "max" ? Math.max(before, value) : before + value,
    });
  }
  return byKey.values();
}
