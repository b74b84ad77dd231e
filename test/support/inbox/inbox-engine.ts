import type { DeadDeliveries } from "../../../src/inbox/dead-deliveries.js";
import type { Enqueue, InboxWorkerOptions } from "../../../src/inbox/index.js";
import type { RetryOptions } from "../../../src/inbox/queue-options.js";

/** A dead job and its last error. */
export interface DeadLetter {
  readonly data: unknown;
  readonly error: string;
}

/** One queue, as the tests use it. */
export interface InboxQueue {
  readonly enqueue: Enqueue;
  /** Starts a worker in this process. Returns the function that stops it. */
  readonly consume: (options: InboxWorkerOptions & { concurrency?: number }) => () => Promise<void>;
  /** Adds a job that the inbox did not make. */
  readonly put: (data: object) => Promise<void>;
  /** The number of jobs in all states. */
  readonly jobs: () => Promise<number>;
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
