import type { DeadDeliveries } from "../../../src/inbox/dead-deliveries.js";
import type { Enqueue, InboxWorkerOptions } from "../../../src/inbox/index.js";
import type { RetryOptions } from "../../../src/inbox/retry-options.js";
import { describeService } from "../describe-service.js";

/** A job that nobody will run again, and why. */
export interface DeadLetter {
  readonly data: unknown;
  readonly error: string;
}

/** What a test does with one queue. */
export interface InboxQueue {
  readonly enqueue: Enqueue;
  /** Starts a worker in this process; returns how to stop it. */
  readonly consume: (options: InboxWorkerOptions & { concurrency?: number }) => () => Promise<void>;
  /** Puts in what a stranger might. */
  readonly put: (data: object) => Promise<void>;
  /** How many jobs are remembered, in whatever state. */
  readonly jobs: () => Promise<number>;
  readonly completed: () => Promise<number>;
  readonly dead: () => Promise<readonly DeadLetter[]>;
  readonly deadDeliveries: DeadDeliveries;
}

/** An engine on a server of the test's own. */
export interface InboxEngine {
  readonly open: (queue: string, retries?: RetryOptions) => Promise<InboxQueue>;
  /** Ends the server as a crash does, and starts it on the same data. */
  readonly kill: () => Promise<void>;
  readonly start: () => Promise<void>;
  /** Where other processes find it. */
  readonly url: string;
  /** All that the engine has stored, as bytes. */
  readonly dump: () => Promise<Buffer>;
  readonly close: () => Promise<void>;
}

/** `describe` for tests on the server of an engine. */
export function describeEngine(service: string, isThere: boolean, body: () => void): void {
  describeService(service, isThere ? undefined : `${service} is not on this machine`, body);
}
