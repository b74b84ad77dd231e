import { describe, expect, it } from "vitest";
import {
  bullmqConsume,
  bullmqEnqueue,
  bullmqDeadDeliveries as bullmqDead,
} from "../../src/inbox/bullmq/index.js";
import { inbox } from "../../src/inbox/index.js";
import {
  pgBossDeadDeliveries as pgBossDead,
  pgBossConsume,
  pgBossEnqueue,
} from "../../src/inbox/pg-boss/index.js";
import type { ConfigurationError } from "../../src/index.js";

describe("invalid options", () => {
  const nothing = () => Promise.resolve(undefined as never);
  const boss = {
    ...{ createQueue: nothing, fetch: nothing, getDb: () => ({ executeSql: nothing }) },
  };
  const queue = { add: nothing };
  const handlers = { new_alarm: () => undefined };
  class Worker {
    on = nothing;
    close = nothing;
    disconnect = nothing;
    toKey = () => "";
  }
  const worker = { Worker, queueName: "q", workerOptions: {}, handlers };

  it.each<[string, () => unknown, string]>([
    ["inbox without enqueue", () => inbox({} as never), "enqueue must be"],
    ["inbox without options", () => inbox(undefined as never), "takes an options object"],
    [
      "an unknown option of inbox",
      () => inbox({ enqueue: nothing, timeout: 1 } as never),
      "timeout is no",
    ],
    [
      "enqueueTimeoutMs of 0",
      () => inbox({ enqueue: nothing, enqueueTimeoutMs: 0 }),
      "enqueueTimeoutMs",
    ],
    [
      "pgBossEnqueue without boss",
      () => pgBossEnqueue({ boss: undefined as never }),
      "boss must be a started PgBoss",
    ],
    [
      "an object that is no PgBoss as boss",
      () => pgBossEnqueue({ boss: queue as never }),
      "the method createQueue",
    ],
    [
      "a queue name with a space",
      () => pgBossEnqueue({ boss, queueName: "a b" }),
      "queueName must be a queue's name",
    ],
    [
      "one queue name for the jobs and the dead jobs",
      () => pgBossEnqueue({ boss, queueName: "a", deadLetterQueueName: "a" }),
      "another queue",
    ],
    ["retryLimit of -1", () => pgBossEnqueue({ boss, retryLimit: -1 }), "retryLimit"],
    ["expireInMs of a day", () => pgBossEnqueue({ boss, expireInMs: 86_400_000 }), "expireInMs"],
    [
      "pendingRetentionMs of 1 ms",
      () => pgBossEnqueue({ boss, pendingRetentionMs: 1 }),
      "pendingRetentionMs",
    ],
    [
      "pgBossEnqueue without options",
      () => pgBossEnqueue(null as never),
      "takes an options object",
    ],
    ["no handlers", () => pgBossConsume({ boss, handlers: {} }), "handlers: give at least one"],
    [
      "a schema with a semicolon",
      () => pgBossConsume({ boss, handlers, schema: "a;b" }),
      "schema must be",
    ],
    [
      "a schema of pgBossEnqueue with a quote",
      () => pgBossEnqueue({ boss, schema: 'a"b' }),
      "schema must be",
    ],
    [
      "a text as onJob",
      () => pgBossConsume({ boss, handlers, onJob: "log" as never }),
      "onJob must be a function",
    ],
    [
      "deadDeliveries of BullMQ without queue",
      () => bullmqDead({ queue: undefined as never }),
      "queue must be a Queue",
    ],
    [
      "deadDeliveries of BullMQ without options",
      () => bullmqDead(undefined as never),
      "takes an options object",
    ],
    [
      "an object that is no PgBoss for deadDeliveries",
      () => pgBossDead({ boss: {} as never }),
      "the method getDb",
    ],
    [
      "deadDeliveries of pg-boss without options",
      () => pgBossDead(null as never),
      "takes an options object",
    ],
    ["concurrency of 0", () => pgBossConsume({ boss, handlers, concurrency: 0 }), "concurrency"],
    [
      "pgBossConsume without options",
      () => pgBossConsume(undefined as never),
      "takes an options object",
    ],
    [
      "a logger without methods",
      () => pgBossConsume({ boss, handlers, logger: {} as never }),
      "logger must have",
    ],
    ["no queue", () => bullmqEnqueue({ queue: undefined as never }), "queue must be a Queue"],
    [
      "a retention of 71 hours",
      () => bullmqEnqueue({ queue, retentionMs: 71 * 3_600_000 }),
      "retentionMs",
    ],
    [
      "bullmqEnqueue without options",
      () => bullmqEnqueue(undefined as never),
      "takes an options object",
    ],
    [
      "an object that is no class as Worker",
      () => bullmqConsume({ ...worker, Worker: {} as never }),
      "Worker must be",
    ],
    [
      "a queue name with a colon",
      () => bullmqConsume({ ...worker, queueName: "a:b" }),
      "queueName must be",
    ],
    [
      "bullmqConsume without a connection",
      () => bullmqConsume({ ...worker, workerOptions: null as never }),
      "connection",
    ],
    [
      "bullmqConsume without options",
      () => bullmqConsume(undefined as never),
      "takes an options object",
    ],
    [
      "concurrency outside of workerOptions",
      () => bullmqConsume({ ...worker, concurrency: 1 } as never),
      "concurrency is no",
    ],
    [
      "a queue's name as the Queue object of bullmqEnqueue",
      () => bullmqEnqueue({ queue: "gateway-deliveries" as never }),
      "queue must be a Queue object of BullMQ and not a queue's name: it lacks the method add",
    ],
    [
      "a queue's name as the Queue object of deadDeliveries",
      () => bullmqDead({ queue: "gateway-deliveries" as never }),
      "and not a queue's name: it lacks the method getJob",
    ],
    [
      "queueName as an option of bullmqEnqueue",
      () => bullmqEnqueue({ queueName: "q" } as never),
      "queueName is no option of bullmqEnqueue: give the Queue object of BullMQ as queue",
    ],
    [
      "queue as an option of bullmqConsume",
      () => bullmqConsume({ ...worker, queue: "q" } as never),
      "queue is no option of bullmqConsume: give the queue's name as queueName",
    ],
    [
      "queue as an option of pgBossEnqueue",
      () => pgBossEnqueue({ boss, queue: "q" } as never),
      "queue is no option of pgBossEnqueue: give the queue's name as queueName",
    ],
    [
      "queue as an option of pgBossConsume",
      () => pgBossConsume({ boss, handlers, queue: "q" } as never),
      "queue is no option of pgBossConsume: give the queue's name as queueName",
    ],
    [
      "queue as an option of deadDeliveries of pg-boss",
      () => pgBossDead({ boss, queue: "q" } as never),
      "queue is no option of pgBossDeadDeliveries: give the queue's name as queueName",
    ],
    [
      "a Queue object as queueName",
      () => bullmqConsume({ ...worker, queueName: queue as never }),
      "queueName must be a queue's name",
    ],
  ])("%s is refused, and the message says what to change", (_, make, message) => {
    expect(make).toThrow(
      expect.objectContaining<Partial<ConfigurationError>>({
        name: "ConfigurationError",
        message: expect.stringContaining(message) as string,
      }) as Error,
    );
  });
});
