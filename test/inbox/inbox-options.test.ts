import { Worker } from "bullmq";
import { describe, expect, it } from "vitest";
import { bullmqQueue } from "../../src/inbox/bullmq/index.js";
import { cloudflareQueue, cloudflareQueueHandler } from "../../src/inbox/cloudflare/index.js";
import { inbox } from "../../src/inbox/index.js";
import { natsQueue } from "../../src/inbox/nats/index.js";
import { rabbitmqQueue } from "../../src/inbox/rabbitmq/index.js";
import { pgBossQueue } from "../../src/inbox/pg-boss/index.js";
import { pgBossStub } from "../support/inbox/pg-boss-stub.js";
import { sqsHandler, sqsQueue } from "../../src/inbox/sqs/index.js";
import { ConfigurationError, memoryStore } from "../../src/index.js";
import { configurationErrorOf } from "../options/refusal.js";
import { MemoryDriver } from "../support/inbox/memory-queue.js";

const nothing = () => Promise.resolve(undefined as never);
const boss = pgBossStub();
const queue = {
  name: "q",
  add: nothing,
  getJob: nothing,
  getJobs: nothing,
  getJobCounts: nothing,
};
const worker = { Worker, queueName: "q", workerOptions: {} };

const jetstream = { publish: nothing, jetstreamManager: nothing };
const nats = { connection: { flush: nothing }, jetstream };
const client = {
  sendMessage: nothing,
  receiveMessage: nothing,
  changeMessageVisibility: nothing,
  deleteMessage: nothing,
  getQueueAttributes: nothing,
  send: nothing,
};
const queueUrl = "https://sqs.eu-central-1.amazonaws.com/123456789012/q";
const sqs = { client, queueUrl };
const handlers = { new_alarm: nothing };

const binding = { send: nothing };

const makers = {
  inbox,
  pgBossQueue,
  bullmqQueue,
  natsQueue,
  rabbitmqQueue,
  sqsQueue,
  sqsHandler,
  cloudflareQueue,
  cloudflareQueueHandler,
};

/** What each constructor refuses, and what its message says. */
const refused: Readonly<
  Record<keyof typeof makers, readonly [options: unknown, message: string][]>
> = {
  inbox: [
    [{}, "driver must have the method put"],
    [{ driver: { put: nothing }, putTimeoutMs: 0 }, "putTimeoutMs"],
  ],
  pgBossQueue: [
    [{ boss: undefined }, "boss must be a started PgBoss"],
    [{ boss: { add: nothing } }, "the method createQueue"],
    [{ boss, queueName: "a b" }, "queueName must be a queue's name"],
    [{ boss, pollIntervalMs: 1 }, "pollIntervalMs"],
    [{ boss, heartbeatMs: 1_000 }, "heartbeatMs"],
    [{ boss, pendingRetentionMs: 1 }, "pendingRetentionMs"],
  ],
  bullmqQueue: [
    [{}, "give queue, a Queue object of BullMQ, or Worker"],
    [{ queue: null }, "queue must be a Queue"],
    [
      { queue: "gateway-deliveries" },
      "queue must be a Queue object of BullMQ and not a queue's name: it lacks the method add",
    ],
    [{ queue, queueName: "p" }, "queueName must be the name of queue"],
    [{ ...worker, Worker: {} }, "Worker must be"],
    [{ queue, workerOptions: {} }, "Worker must be"],
    [{ ...worker, queueName: "a:b" }, "queueName must be"],
    [{ ...worker, queueName: queue }, "queueName must be a queue's"],
    [{ ...worker, workerOptions: null }, "connection"],
    [
      { ...worker, workerOptions: { concurrency: 1 } },
      "concurrency is no worker option here: give it to inboxConsume",
    ],
  ],
  natsQueue: [
    [{ connection: nats.connection }, "must be jetstream(conn"],
    [{ jetstream }, "must be the connection of jetstream"],
    [
      { ...nats, jetstream: { publish: nothing } },
      "a version of @nats-io/jetstream without the method jetstreamManager",
    ],
    [{ ...nats, queueName: "a.b" }, "must have no dot"],
    [{ ...nats, replicas: 6 }, "replicas must be"],
  ],
  rabbitmqQueue: [
    [{}, "connect must be a function: () => amqplib.connect(url)"],
    [{ connect: nothing, queueName: "a/b" }, "queueName must be"],
  ],
  cloudflareQueue: [
    [{ queue: undefined }, "is it named in queues.producers"],
    [{ queue: binding, deadQueue: {} }, "deadQueue must be"],
    [{ queue: binding, queueName: binding }, "queueName must be"],
  ],
  cloudflareQueueHandler: [
    [undefined, "driver must be made by"],
    [{ driver: cloudflareQueue({ queue: binding }) }, "deadQueue"],
  ],
  sqsQueue: [
    [{ ...sqs, client: { send: nothing } }, "new SQS(config) in place of new SQSC"],
    [{ ...sqs, client: { ...client, send: 1 } }, "aws-sdk 2"],
    [{ client, queueUrl: "q" }, "queueUrl must be the URL of a"],
    [{ ...sqs, deadQueueUrl: "q" }, "deadQueueUrl must be the URL"],
    [{ ...sqs, deadQueueUrl: queueUrl }, "must be another queue than"],
    [{ ...sqs, maxMessageBytes: 2_097_152 }, "maxMessageBytes must be"],
    [{ ...sqs, maxReceiveCount: 1 }, "maxReceiveCount must be"],
  ],
  sqsHandler: [
    [undefined, "driver must be made by sqsQueue"],
    [{ driver: sqsQueue(sqs), store: memoryStore(), handlers }, "with deadQueueUrl"],
    [
      { driver: sqsQueue({ ...sqs, deadQueueUrl: `${queueUrl}-dead` }), handlers },
      "store must be given",
    ],
  ],
};

for (const [maker, rows] of Object.entries(refused)) {
  it.each(rows.map(([options, message]) => [message, options] as const))(
    `${maker} refuses its options: %s`,
    (message, options) => {
      const make = makers[maker as keyof typeof makers] as (options: unknown) => unknown;
      expect(() => make(options)).toThrow(ConfigurationError);
      expect(() => make(options)).toThrow(message);
    },
  );
}

it.each<[string, (driver: MemoryDriver) => Promise<unknown>]>([
  ["replay of a word", (driver) => driver.replay("some" as "all")],
  ["replay of a list with a gap", (driver) => driver.replay(Array(1) as never)],
  ["replay with null", (driver) => driver.replay("all", null as never)],
  ["discard of numbers", (driver) => driver.discard([1] as never)],
  ["discard of null", (driver) => driver.discard(null as never)],
  ["discard of no account", (driver) => driver.discard({} as never)],
  ["discard of an account as text", (driver) => driver.discard({ accountId: "42" } as never)],
  ["discard of two things", (driver) => driver.discard({ accountId: 42, ids: [] } as never)],
  ["discard with null", (driver) => driver.discard([], null as never)],
  ["list with a limit of 0", (driver) => driver.list({ limit: 0 })],
  ["list with an unknown option", (driver) => driver.list({ page: 1 } as never)],
  ["replay of at most 0", (driver) => driver.replay("all", { max: 0 })],
])("dead deliveries refuse %s", async (_, call) => {
  await expect(call(new MemoryDriver())).rejects.toMatchObject({ name: "ConfigurationError" });
});

// `npm run platforms -- peers` tries the real packages.
describe("versions of pg-boss", () => {
  it.each([
    [
      "10, whose methods are properties",
      { ...pgBossStub(), start: nothing, getQueueSize: nothing },
    ],
    ["12.34, whose calls take no run of a job", { ...pgBossStub(), start: nothing }],
    ["11, which has no touch", { start: nothing, fetch: nothing, createQueue: nothing }],
  ])("pgBossQueue refuses pg-boss %s", (_, boss) => {
    const { code, message } = configurationErrorOf(() => pgBossQueue({ boss: boss as never }));
    expect(code).toBe("unsupported_version");
    expect(message).toBe(
      "boss is of a version before pg-boss 12.35, which does not work here. Supported: pg-boss 12.35 and later",
    );
  });

  it("pgBossQueue takes pg-boss 12.35, and a wrapper with its methods", () => {
    const boss = { ...pgBossStub(), start: nothing, isTimekeeping: nothing };
    expect(() => pgBossQueue({ boss })).not.toThrow();
    expect(() => pgBossQueue({ boss: pgBossStub() })).not.toThrow();
  });
});

describe("versions of bullmq", () => {
  const supported = "which does not work here. Supported: bullmq 5.66 and later";

  it("bullmqQueue refuses a Worker without its methods, and starts none", () => {
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
    const { code, message } = configurationErrorOf(() =>
      bullmqQueue({ Worker: OldWorker as never, workerOptions: {} }),
    );
    expect(code).toBe("unsupported_version");
    expect(message).toBe(
      `Worker is of a version of bullmq without the method getNextJob, ${supported}`,
    );
    expect(started).toBe(0);
  });

  it("bullmqQueue refuses a Queue without some of its methods", () => {
    const queue = { name: "q", add: nothing, getJobs: nothing };
    const { code, message } = configurationErrorOf(() => bullmqQueue({ queue: queue as never }));
    expect(code).toBe("unsupported_version");
    expect(message).toBe(`queue is of a version of bullmq without the method getJob, ${supported}`);
  });
});
