import { expect, it } from "vitest";
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

const makers = {
  inbox,
  pgBossEnqueue,
  pgBossConsume,
  pgBossDead,
  bullmqEnqueue,
  bullmqConsume,
  bullmqDead,
};

/** What each constructor refuses, and what its message says. */
const refused: Readonly<
  Record<keyof typeof makers, readonly [title: string, options: unknown, message: string][]>
> = {
  inbox: [
    ["inbox without enqueue", {}, "enqueue must be"],
    ["inbox without options", undefined, "takes an options object"],
    ["an unknown option of inbox", { enqueue: nothing, timeout: 1 }, "timeout is no"],
    ["enqueueTimeoutMs of 0", { enqueue: nothing, enqueueTimeoutMs: 0 }, "enqueueTimeoutMs"],
  ],
  pgBossEnqueue: [
    ["pgBossEnqueue without boss", { boss: undefined }, "boss must be a started PgBoss"],
    ["an object that is no PgBoss as boss", { boss: queue }, "the method createQueue"],
    ["a queue name with a space", { boss, queueName: "a b" }, "queueName must be a queue's name"],
    [
      "one queue name for the jobs and the dead jobs",
      { boss, queueName: "a", deadLetterQueueName: "a" },
      "another queue",
    ],
    ["retryLimit of -1", { boss, retryLimit: -1 }, "retryLimit"],
    ["expireInMs of a day", { boss, expireInMs: 86_400_000 }, "expireInMs"],
    ["pendingRetentionMs of 1 ms", { boss, pendingRetentionMs: 1 }, "pendingRetentionMs"],
    ["pgBossEnqueue without options", null, "takes an options object"],
    ["a schema of pgBossEnqueue with a quote", { boss, schema: 'a"b' }, "schema must be"],
    [
      "queue as an option of pgBossEnqueue",
      { boss, queue: "q" },
      "queue is no option of pgBossEnqueue: give the queue's name as queueName",
    ],
  ],
  pgBossConsume: [
    ["no handlers", { boss, handlers: {} }, "handlers: give at least one"],
    ["a schema with a semicolon", { boss, handlers, schema: "a;b" }, "schema must be"],
    ["a text as onJob", { boss, handlers, onJob: "log" }, "onJob must be a function"],
    ["concurrency of 0", { boss, handlers, concurrency: 0 }, "concurrency"],
    ["pgBossConsume without options", undefined, "takes an options object"],
    ["a logger without methods", { boss, handlers, logger: {} }, "logger must have"],
    [
      "queue as an option of pgBossConsume",
      { boss, handlers, queue: "q" },
      "queue is no option of pgBossConsume: give the queue's name as queueName",
    ],
  ],
  bullmqDead: [
    ["deadDeliveries of BullMQ without queue", { queue: undefined }, "queue must be a Queue"],
    ["deadDeliveries of BullMQ without options", undefined, "takes an options object"],
    [
      "a queue's name as the Queue object of deadDeliveries",
      { queue: "gateway-deliveries" },
      "and not a queue's name: it lacks the method getJob",
    ],
  ],
  pgBossDead: [
    ["an object that is no PgBoss for deadDeliveries", { boss: {} }, "the method getDb"],
    ["deadDeliveries of pg-boss without options", null, "takes an options object"],
    [
      "queue as an option of deadDeliveries of pg-boss",
      { boss, queue: "q" },
      "queue is no option of pgBossDeadDeliveries: give the queue's name as queueName",
    ],
  ],
  bullmqEnqueue: [
    ["no queue", { queue: undefined }, "queue must be a Queue"],
    ["a retention of 71 hours", { queue, retentionMs: 71 * 3_600_000 }, "retentionMs"],
    ["bullmqEnqueue without options", undefined, "takes an options object"],
    [
      "a queue's name as the Queue object of bullmqEnqueue",
      { queue: "gateway-deliveries" },
      "queue must be a Queue object of BullMQ and not a queue's name: it lacks the method add",
    ],
    [
      "queueName as an option of bullmqEnqueue",
      { queueName: "q" },
      "queueName is no option of bullmqEnqueue: give the Queue object of BullMQ as queue",
    ],
  ],
  bullmqConsume: [
    ["an object that is no class as Worker", { ...worker, Worker: {} }, "Worker must be"],
    ["a queue name with a colon", { ...worker, queueName: "a:b" }, "queueName must be"],
    ["bullmqConsume without a connection", { ...worker, workerOptions: null }, "connection"],
    ["bullmqConsume without options", undefined, "takes an options object"],
    ["concurrency outside of workerOptions", { ...worker, concurrency: 1 }, "concurrency is no"],
    [
      "queue as an option of bullmqConsume",
      { ...worker, queue: "q" },
      "queue is no option of bullmqConsume: give the queue's name as queueName",
    ],
    [
      "a Queue object as queueName",
      { ...worker, queueName: queue },
      "queueName must be a queue's name",
    ],
  ],
};

for (const [maker, rows] of Object.entries(refused)) {
  it.each(rows)("%s is refused, and the message says what to change", (_, options, message) => {
    const make = makers[maker as keyof typeof makers] as (options: unknown) => unknown;
    expect(() => make(options)).toThrow(
      expect.objectContaining<Partial<ConfigurationError>>({
        name: "ConfigurationError",
        message: expect.stringContaining(message) as string,
      }) as Error,
    );
  });
}
