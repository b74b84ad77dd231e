import { Worker } from "bullmq";
import { describe, expect, it } from "vitest";
import {
  bullmqConsume,
  bullmqEnqueue,
  bullmqDeadDeliveries as bullmqDead,
} from "../../src/inbox/bullmq/index.js";
import {
  pgBossDeadDeliveries as pgBossDead,
  pgBossConsume,
  pgBossEnqueue,
} from "../../src/inbox/pg-boss/index.js";
import { ConfigurationError } from "../../src/index.js";

// `npm run platforms -- peers` tries the real packages.
const nothing = () => Promise.resolve(undefined as never);
const handlers = { new_alarm: () => undefined };

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
  const makers: readonly [string, (boss: typeof common) => unknown][] = [
    ["pgBossEnqueue", (boss) => pgBossEnqueue({ boss })],
    ["pgBossConsume", (boss) => pgBossConsume({ boss, handlers })],
    ["deadDeliveries", (boss) => pgBossDead({ boss })],
  ];

  it.each(makers)("%s refuses pg-boss 11, whose methods are properties", (_, make) => {
    const boss = { ...common, start: nothing, getQueueStats: nothing };
    const { code, message } = errorOf(() => make(boss));
    expect(code).toBe("unsupported_version");
    expect(message).toBe(
      "boss is of pg-boss 11 or later, which does not work here. Supported: pg-boss 10",
    );
  });

  it.each(makers)("%s refuses pg-boss 12, whose methods are those of its class", (_, make) => {
    class PgBoss {
      createQueue = nothing;
      fetch = nothing;
      getDb = common.getDb;
      getQueueStats() {
        return nothing();
      }
    }
    expect(errorOf(() => make(new PgBoss()))).toMatchObject({ code: "unsupported_version" });
  });

  it.each(makers.slice(0, 1))("%s takes pg-boss 10, and a wrapper with its methods", (_, make) => {
    expect(() => make({ ...common, start: nothing, getQueueSize: nothing } as never)).not.toThrow();
    expect(() => make(common)).not.toThrow();
  });
});

describe("versions of bullmq", () => {
  it("bullmqConsume takes the Worker of the installed bullmq", async () => {
    const workerOptions = { connection: { host: "127.0.0.1", port: 1 } };
    const stop = bullmqConsume({ Worker, workerOptions, handlers, logger: false });
    await stop();
  });

  it("bullmqConsume refuses a Worker without the methods that it calls, and starts none", () => {
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
      bullmqConsume({ Worker: OldWorker as never, workerOptions: {}, handlers }),
    );
    expect(code).toBe("unsupported_version");
    expect(message).toBe(
      "Worker is of a version of bullmq without the method disconnect, which does not work here. Supported: bullmq 5.66 and later",
    );
    expect(started).toBe(0);
  });

  it("bullmqConsume refuses a Worker that has no way to its Redis client", () => {
    class OldWorker {
      on() {
        return this;
      }
      close() {
        return nothing();
      }
      disconnect() {
        return nothing();
      }
    }
    expect(
      errorOf(() => bullmqConsume({ Worker: OldWorker as never, workerOptions: {}, handlers })),
    ).toMatchObject({ code: "unsupported_version" });
  });

  it("deadDeliveries refuses a Queue that has only some of the methods that it calls", () => {
    const queue = { add: nothing, getJobs: nothing };
    expect(errorOf(() => bullmqDead({ queue: queue as never }))).toMatchObject({
      code: "unsupported_version",
      message:
        "queue is of a version of bullmq without the method getJob, which does not work here. Supported: bullmq 5.66 and later",
    });
    expect(() => bullmqEnqueue({ queue: { add: nothing } })).not.toThrow();
  });
});
