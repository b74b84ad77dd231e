import { describe, expect, it } from "vitest";
import type { Enqueue, InboxWorkerOptions } from "../../src/inbox/index.js";
import type { RetryOptions } from "../../src/inbox/retry-options.js";

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
}

/** An engine on a server of the test's own. */
export interface InboxEngine {
  readonly open: (queue: string, retries?: RetryOptions) => Promise<InboxQueue>;
  /** Ends the server as a crash does, and starts it on the same data. */
  readonly kill: () => Promise<void>;
  readonly start: () => Promise<void>;
  /** Where other processes find it. */
  readonly url: string;
  readonly close: () => Promise<void>;
}

/** `describe` for tests on a real server. Without one they fail on CI, and say so elsewhere. */
export function describeEngine(service: string, isThere: boolean, body: () => void): void {
  if (isThere) {
    describe(service, body);
    return;
  }
  const missing = `${service} is not on this machine: the tests of its inbox did NOT run`;
  describe(service, () => {
    it("is there", (context) => {
      process.stderr.write(`\n${missing}\n`);
      expect(process.env["CI"], missing).not.toBe("true");
      context.skip(missing);
    });
  });
}
