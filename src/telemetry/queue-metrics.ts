import { within } from "../common/timers.js";
import type { Series, Unit } from "./metrics.js";
import type { MeasuredQueue, QueueState } from "./telemetry.js";

/** A number that a queue tells. */
interface QueueMetric {
  readonly name: string;
  readonly unit: Unit;
  readonly description: string;
  readonly attributes: readonly string[];
  readonly read: (state: QueueState) => readonly Series[];
}

/** The metrics of the queues that inboxes write to. A number that an engine does not know has no series. */
export const QUEUE_METRICS: readonly QueueMetric[] = [
  {
    name: "gateway_webhook.jobs.oldest_age",
    unit: "s",
    attributes: ["queue"],
    description: "How long the oldest due job has waited for a worker; 0: none waits",
    // Users write drivers too, and Prometheus refuses a page with a value that is no number.
    read: ({ oldestMs }) =>
      typeof oldestMs === "number" ? [{ attributes: {}, value: oldestMs / 1000 }] : [],
  },
  {
    name: "gateway_webhook.jobs.queued",
    unit: "{job}",
    attributes: ["queue", "state"],
    description: "Jobs in the queue that wait for a worker, or that are dead",
    read: ({ count, dead }) =>
      Object.entries({ waiting: count, dead }).flatMap(([state, value]) =>
        typeof value === "number" ? [{ attributes: { state }, value }] : [],
      ),
  },
];

/** The queues by their names. Of two with one name the later is asked. */
export type QueuesByName = ReadonlyMap<string, MeasuredQueue>;

/**
 * The series of each of `QUEUE_METRICS`, in their order. Each engine is asked once. A queue whose engine does not answer is
 * left out. Never rejects.
 */
export async function queueSeries(queues: QueuesByName): Promise<readonly (readonly Series[])[]> {
  const states = await statesOf(queues);
  return QUEUE_METRICS.map(({ read }) =>
    states.flatMap(([queue, state]) =>
      read(state).map(({ attributes, value }) => ({ attributes: { queue, ...attributes }, value })),
    ),
  );
}

/** An export must not wait longer for an engine that is down. */
const QUERY_TIMEOUT_MS = 5_000;

async function statesOf(queues: QueuesByName): Promise<readonly (readonly [string, QueueState])[]> {
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
