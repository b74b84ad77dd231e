import type { QueueState, JobReport, MeasuredQueue } from "../telemetry.js";
import type { BatchObservableResult, Meter, MeterProvider } from "@opentelemetry/api";
import { forHistograms } from "../histogram-metrics.js";
import { combined, RECEIVER_METRICS, type Series } from "../metrics.js";
import type { MeasuredReceiver } from "../tally.js";
import type { DurationRecorder } from "../../answer/observers.js";
import { within } from "../../common/timers.js";
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
  readonly #queues = new Map<string, MeasuredQueue>();
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
        for (const [queue, state] of await statesOf(this.#queues)) {
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

  /** Exports the state of a queue that can tell it. Of two queues with one name the later is asked. */
  connectQueue(queue: MeasuredQueue): void {
    if (queue.waiting !== undefined) this.#queues.set(queue.name ?? "queue", queue);
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

const JOB_OUTCOMES = ["handled", "discarded", "retry_later", "handler_failed", "dead"] as const;
const JOB_TYPES = ["new_alarm", "delete_my_data_event", "other"] as const;

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

/** The metrics of the queues that inboxes write to. A number that an engine does not know has no series. */
export const QUEUE_METRICS = [
  {
    name: "gateway_webhook.jobs.oldest_age",
    unit: "s",
    attributes: ["queue"],
    description: "How long the oldest due job has waited for a worker; 0: none waits",
    read: ({ oldestMs }: QueueState): Series[] =>
      oldestMs === undefined ? [] : [{ attributes: {}, value: oldestMs / 1000 }],
  },
  {
    name: "gateway_webhook.jobs.queued",
    unit: "{job}",
    attributes: ["queue", "state"],
    description: "Jobs in the queue that wait for a worker, or that are dead",
    read: ({ count, dead }: QueueState): Series[] =>
      Object.entries({ waiting: count, dead }).flatMap(([state, value]) =>
        value === undefined ? [] : [{ attributes: { state }, value }],
      ),
  },
];

/** An export must not wait longer for an engine that is down. */
const QUERY_TIMEOUT_MS = 5_000;

/**
 * The state of each queue, by its name: the engines are asked once for all metrics. A queue whose engine does not answer
 * is left out. Never rejects.
 */
async function statesOf(
  queues: ReadonlyMap<string, MeasuredQueue>,
): Promise<readonly (readonly [string, QueueState])[]> {
  const asked = [...queues].map(async ([queue, measured]) => {
    try {
      const query = (async () => measured.waiting?.())();
      const state = await within(QUERY_TIMEOUT_MS, "the state of the queue", query);
      return state === undefined ? [] : [[queue, state] as const];
    } catch {
      return [];
    }
  });
  return (await Promise.all(asked)).flat();
}
