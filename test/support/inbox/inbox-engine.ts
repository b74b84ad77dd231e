import type { DeadDeliveries } from "../../../src/inbox/dead-deliveries.js";
import type { InboxConsumeOptions, QueueProducer } from "../../../src/inbox/index.js";
import type { RetryOptions } from "../../../src/inbox/queue-options.js";

/** A dead job and its last error. */
export interface DeadLetter {
  readonly data: unknown;
  readonly error: string;
}

/** What a test decides of a worker. */
export type WorkerOptions = Pick<
  InboxConsumeOptions,
  "handlers" | "onJob" | "telemetry" | "logger" | "concurrency"
>;

/** One queue, as the tests use it. */
export interface InboxQueue {
  readonly enqueue: QueueProducer<unknown>;
  /** Starts a worker in this process. Returns the function that stops it. */
  readonly consume: (options: WorkerOptions) => () => Promise<void>;
  /** Adds a job that the inbox did not make. */
  readonly put: (data: object) => Promise<void>;
  /** The number of jobs in all states. */
  readonly jobs: () => Promise<number>;
  /** The number of jobs that were handled or discarded. */
  readonly completed: () => Promise<number>;
  readonly dead: () => Promise<readonly DeadLetter[]>;
  readonly deadDeliveries: DeadDeliveries;
}

/** An engine on its own server. */
export interface InboxEngine {
  readonly open: (queue: string, retries?: RetryOptions) => Promise<InboxQueue>;
  /** Ends the server as a crash does. */
  readonly kill: () => Promise<void>;
  /** Starts the server again, on the same data. */
  readonly start: () => Promise<void>;
  /** The address of the server, for other processes. */
  readonly url: string;
  /** Everything that the engine has stored, as bytes. */
  readonly dump: () => Promise<Buffer>;
  readonly close: () => Promise<void>;
}
