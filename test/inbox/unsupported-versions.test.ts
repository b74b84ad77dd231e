import { describe, expect, it } from "vitest";
import { bullmqQueue } from "../../src/inbox/bullmq/index.js";
import { pgBossQueue } from "../../src/inbox/pg-boss/index.js";
import { ConfigurationError } from "../../src/index.js";
import { pgBossStub } from "../support/inbox/pg-boss-stub.js";

// `npm run platforms -- peers` tries the real packages.
const nothing = () => Promise.resolve(undefined as never);

/** What `make` throws. */
function errorOf(make: () => unknown): ConfigurationError {
  try {
    make();
  } catch (error) {
    if (error instanceof ConfigurationError) return error;
    throw error;
  }
  throw new Error("it did not throw");
}

describe("versions of pg-boss", () => {
  it.each([
    [
      "10, whose methods are properties",
      { ...pgBossStub(), start: nothing, getQueueSize: nothing },
    ],
    ["12.34, whose calls take no run of a job", { ...pgBossStub(), start: nothing }],
    ["11, which has no touch", { start: nothing, fetch: nothing, createQueue: nothing }],
  ])("pgBossQueue refuses pg-boss %s", (_, boss) => {
    const { code, message } = errorOf(() => pgBossQueue({ boss: boss as never }));
    expect(code).toBe("unsupported_version");
    expect(message).toBe(
      "boss is of a version before pg-boss 12.35, which does not work here. Supported: pg-boss 12.35 and later",
    );
  });

  it("pgBossQueue takes pg-boss 12.35, and a wrapper with the methods that it calls", () => {
    const boss = { ...pgBossStub(), start: nothing, isTimekeeping: nothing };
    expect(() => pgBossQueue({ boss })).not.toThrow();
    expect(() => pgBossQueue({ boss: pgBossStub() })).not.toThrow();
  });
});

describe("versions of bullmq", () => {
  const supported = "which does not work here. Supported: bullmq 5.66 and later";

  it("bullmqQueue refuses a Worker without the methods that it calls, and starts none", () => {
    let started = 0;
    class OldWorker {
      constructor() {
        started += 1;
      }
      on() {
        return this;
      }
      close() {
        return nothing();
      }
    }
    const { code, message } = errorOf(() =>
      bullmqQueue({ Worker: OldWorker as never, workerOptions: {} }),
    );
    expect(code).toBe("unsupported_version");
    expect(message).toBe(
      `Worker is of a version of bullmq without the method getNextJob, ${supported}`,
    );
    expect(started).toBe(0);
  });

  it("bullmqQueue refuses a Queue that has only some of the methods that it calls", () => {
    const queue = { name: "q", add: nothing, getJobs: nothing };
    const { code, message } = errorOf(() => bullmqQueue({ queue: queue as never }));
    expect(code).toBe("unsupported_version");
    expect(message).toBe(`queue is of a version of bullmq without the method getJob, ${supported}`);
  });
});
