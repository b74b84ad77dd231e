import { within } from "../../common/timers.js";
import type { JobReport, MeasuredQueue } from "../telemetry.js";
import type { Series } from "../metrics.js";
import { typeLabel } from "../../delivery/headers.js";

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
    const counts = this.#counts.get(typeLabel(type));
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
    name: "gateway_webhook.jobs",
    unit: "{run}",
    description: "Runs of jobs by outcome and webhook type",
    read: (jobs: JobTally): readonly Series[] => jobs.series(),
  },
  {
    name: "gateway_webhook.jobs.dead",
    unit: "{job}",
    description: "Jobs that the queue engine does not run again",
    read: (jobs: JobTally): readonly Series[] =>
      jobs
        .series()
        .filter(({ attributes }) => attributes["outcome"] === "dead")
        .map(({ attributes: { type = "" }, value }) => ({ attributes: { type }, value })),
  },
];

type QueueState = Awaited<ReturnType<NonNullable<MeasuredQueue["waiting"]>>>;

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

/** Asks the engines of queues for their state, once for all metrics. */
export class QueueStates {
  readonly #queues = new Map<string, MeasuredQueue>();

  /** A queue that cannot tell is left out. Of two queues with one name the later is asked. */
  add(queue: MeasuredQueue): void {
    if (queue.waiting !== undefined) this.#queues.set(queue.name ?? "queue", queue);
  }

  /** The state of each queue, by its name. A queue whose engine does not answer is left out. Never rejects. */
  async read(): Promise<readonly (readonly [string, QueueState])[]> {
    const asked = [...this.#queues].map(async ([queue, measured]) => {
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
}
