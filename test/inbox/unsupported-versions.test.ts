import { describe, expect, it } from "vitest";
import { bullmqQueue } from "../../src/inbox/bullmq/index.js";
import { pgBossQueue } from "../../src/inbox/pg-boss/index.js";
import { ConfigurationError } from "../../src/index.js";

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
  const common = { createQueue: nothing, fetch: nothing, getDb: () => ({ executeSql: nothing }) };

  it("pgBossQueue refuses pg-boss 11, whose methods are properties", () => {
    const boss = { ...common, start: nothing, getQueueStats: nothing };
    const { code, message } = errorOf(() => pgBossQueue({ boss }));
    expect(code).toBe("unsupported_version");
    expect(message).toBe(
      "boss is of pg-boss 11 or later, which does not work here. Supported: pg-boss 10",
    );
  });

  it("pgBossQueue refuses pg-boss 12, whose methods are those of its class", () => {
    class PgBoss {
      createQueue = nothing;
      fetch = nothing;
      getDb = common.getDb;
      getQueueStats() {
        return nothing();
      }
    }
    const { code } = errorOf(() => pgBossQueue({ boss: new PgBoss() }));
    expect(code).toBe("unsupported_version");
  });

  it("pgBossQueue takes pg-boss 10, and a wrapper with its methods", () => {
    const boss = { ...common, start: nothing, getQueueSize: nothing };
    expect(() => pgBossQueue({ boss })).not.toThrow();
    expect(() => pgBossQueue({ boss: common })).not.toThrow();
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
