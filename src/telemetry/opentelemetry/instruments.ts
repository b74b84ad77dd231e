import type { JobReport, MeasuredQueue } from "../telemetry.js";
import type { BatchObservableResult, Meter, MeterProvider } from "@opentelemetry/api";
import { WEBHOOK_TYPES } from "../../common/gateway-facts.js";
import { forHistograms } from "../histogram-metrics.js";
import { combined, RECEIVER_METRICS, type Series } from "../metrics.js";
import { QUEUE_METRICS, queueSeries } from "../queue-metrics.js";
import type { MeasuredReceiver } from "../tally.js";
import type { DurationRecorder } from "../../answer/observers.js";
import { typeLabel } from "../../delivery/headers.js";

/** The name of our meter and our tracer. */
export const SCOPE = "identity-gateway-webhooks";

/**
 * The instruments of one meter provider. Counters are tallies that are read when they are exported, which
 * takes no time of a delivery; only histograms are recorded at once, since the API has no other way.
 */
export class Instruments {
  readonly #receivers: MeasuredReceiver[] = [];
  readonly #jobs = new JobTally();
  readonly #queues: MeasuredQueue[] = [];
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
    const queued = QUEUE_METRICS.map(({ name, unit, description }) =>
      meter.createObservableGauge(name, { unit, description }),
    );
    meter.addBatchObservableCallback(async (result) => {
      for (const [at, [, series]] of (await queueSeries(this.#queues)).entries()) {
        const instrument = queued[at];
        if (instrument === undefined) continue;
        for (const { attributes, value } of series) result.observe(instrument, value, attributes);
      }
    }, queued);
  }

  /** Exports the numbers of a receiver from now on. */
  connect(receiver: MeasuredReceiver): void {
    this.#receivers.push(receiver);
    receiver.tally.attach(this.#durations);
  }

  /** Exports the state of a queue that can tell it. Of two queues with one name the later is asked. */
  connectQueue(queue: MeasuredQueue): void {
    if (queue.waiting !== undefined) this.#queues.push(queue);
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

const JOB_OUTCOMES = "handled discarded unhandled retry_later handler_failed dead".split(" ");
const JOB_TYPES = [...WEBHOOK_TYPES, "other"];

/** Runs of jobs, by type and outcome. */
export class JobTally {
  readonly series = JOB_TYPES.flatMap((type) =>
    JOB_OUTCOMES.map((outcome) => ({ attributes: { outcome, type }, value: 0 })),
  );

  count({ outcome, type = "other" }: Pick<JobReport, "outcome" | "type">): void {
    const label = typeLabel(type);
    const counted = this.series.find(
      ({ attributes }) => attributes.outcome === outcome && attributes.type === label,
    );
    if (counted !== undefined) counted.value += 1;
  }
}

/** The metrics of workers. */
export const JOB_METRICS = [
  {
    name: "gateway_webhook.jobs",
    unit: "{run}",
    description: "Runs of jobs by outcome and webhook type",
    read: (jobs: JobTally): readonly Series[] => jobs.series,
  },
  {
    name: "gateway_webhook.jobs.dead",
    unit: "{job}",
    description: "Jobs that the queue engine does not run again",
    read: (jobs: JobTally): readonly Series[] =>
      jobs.series
        .filter(({ attributes }) => attributes.outcome === "dead")
        .map(({ attributes: { type }, value }) => ({ attributes: { type }, value })),
  },
];
