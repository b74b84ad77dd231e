import { within } from "../common/timers.js";
import type { Metric, Series } from "./metrics.js";
import type { MeasuredQueue, QueueState } from "./telemetry.js";

/** A gauge of what a queue tells. */
interface QueueMetric extends Pick<Metric, "name" | "unit" | "description"> {
  readonly attributes: readonly string[];
  readonly read: (state: QueueState) => readonly Series[];
}

/** Users write drivers too, and Prometheus refuses a page with a value that is no number. */
function known(value = NaN, attributes: Series["attributes"] = {}): readonly Series[] {
  return Number.isFinite(value) ? [{ attributes, value }] : [];
}

/** The metrics of the queues that inboxes write to. A number that an engine does not know has no series. */
export const QUEUE_METRICS: readonly QueueMetric[] = [
  {
    name: "gateway_webhook.jobs.oldest_age",
    unit: "s",
    attributes: ["queue"],
    description: "How long the oldest due job has waited for a worker; 0: none waits",
    read: ({ oldestMs = NaN }) => known(oldestMs / 1000),
  },
  {
    name: "gateway_webhook.jobs.queued",
    unit: "{job}",
    attributes: ["queue", "state"],
    description: "Jobs in the queue that wait for a worker, or that are dead",
    read: ({ count, dead }) => [
      ...known(count, { state: "waiting" }),
      ...known(dead, { state: "dead" }),
    ],
  },
];

/** What the queues say of a metric. */
export type QueueSeries = readonly [metric: QueueMetric, series: readonly Series[]];

/** An export must not wait longer for an engine that is down. */
const QUERY_TIMEOUT_MS = 5_000;

/**
 * The series of each of `QUEUE_METRICS`, in their order. Each engine is asked once; of two queues with one name the later. A
 * queue whose engine does not answer has no series. Never rejects.
 */
export async function queueSeries(
  queues: readonly MeasuredQueue[],
): Promise<readonly QueueSeries[]> {
  const byName = new Map(queues.map((queue) => [queue.name ?? "queue", queue]));
  const asked = [...byName].map(async ([queue, measured]) => {
    const query = (async () => measured.waiting?.())();
    const state = within(QUERY_TIMEOUT_MS, "the state of the queue", query);
    return [queue, (await state.catch(() => undefined)) ?? {}] as const;
  });
  const states = await Promise.all(asked);
  return QUEUE_METRICS.map((metric) => [
    metric,
    states.flatMap(([queue, state]) =>
      metric
        .read(state)
        .map(({ attributes, value }) => ({ attributes: { queue, ...attributes }, value })),
    ),
  ]);
}
