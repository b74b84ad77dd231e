import { Worker } from "bullmq";
import { expect, it } from "vitest";
import { bullmqQueue } from "../../src/inbox/bullmq/index.js";
import { cloudflareQueue, cloudflareQueueHandler } from "../../src/inbox/cloudflare/index.js";
import { inbox } from "../../src/inbox/index.js";
import { natsQueue } from "../../src/inbox/nats/index.js";
import { rabbitmqQueue } from "../../src/inbox/rabbitmq/index.js";
import { pgBossQueue } from "../../src/inbox/pg-boss/index.js";
import { pgBossStub } from "../support/inbox/pg-boss-stub.js";
import { sqsHandler, sqsQueue } from "../../src/inbox/sqs/index.js";
import { memoryStore, type ConfigurationError } from "../../src/index.js";

const nothing = () => Promise.resolve(undefined as never);
const boss = pgBossStub();
const queue = {
  name: "q",
  add: nothing,
  getJob: nothing,
  getJobState: nothing,
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
  Record<keyof typeof makers, readonly [title: string, options: unknown, message: string][]>
> = {
  inbox: [
    ["inbox without driver", {}, "driver must have the method put"],
    ["inbox without options", undefined, "takes an options object"],
    ["an unknown option of inbox", { driver: { put: nothing }, timeout: 1 }, "timeout is no"],
    ["putTimeoutMs of 0", { driver: { put: nothing }, putTimeoutMs: 0 }, "putTimeoutMs"],
  ],
  pgBossQueue: [
    ["pgBossQueue without boss", { boss: undefined }, "boss must be a started PgBoss"],
    ["an object that is no PgBoss as boss", { boss: { add: nothing } }, "the method createQueue"],
    ["a queue name with a space", { boss, queueName: "a b" }, "queueName must be a queue's name"],
    ["pollIntervalMs of 1 ms", { boss, pollIntervalMs: 1 }, "pollIntervalMs"],
    ["heartbeatMs of 1 s", { boss, heartbeatMs: 1_000 }, "heartbeatMs"],
    ["pendingRetentionMs of 1 ms", { boss, pendingRetentionMs: 1 }, "pendingRetentionMs"],
    ["pgBossQueue without options", null, "takes an options object"],
    [
      "queue as an option of pgBossQueue",
      { boss, queue: "q" },
      "queue is no option of pgBossQueue",
    ],
  ],
  bullmqQueue: [
    ["bullmqQueue without options", undefined, "takes an options object"],
    ["bullmqQueue without queue and Worker", {}, "give queue, a Queue object of BullMQ, or Worker"],
    ["null as the Queue object of bullmqQueue", { queue: null }, "queue must be a Queue"],
    [
      "a queue's name as the Queue object of bullmqQueue",
      { queue: "gateway-deliveries" },
      "queue must be a Queue object of BullMQ and not a queue's name: it lacks the method add",
    ],
    ["the name of another queue", { queue, queueName: "p" }, "queueName must be the name of queue"],
    ["an object that is no class as Worker", { ...worker, Worker: {} }, "Worker must be"],
    ["workerOptions without Worker", { queue, workerOptions: {} }, "Worker must be"],
    ["a queue name with a colon", { ...worker, queueName: "a:b" }, "queueName must be"],
    ["a Queue object as queueName", { ...worker, queueName: queue }, "queueName must be a queue's"],
    ["a Worker without a connection", { ...worker, workerOptions: null }, "connection"],
    [
      "concurrency in workerOptions",
      { ...worker, workerOptions: { concurrency: 1 } },
      "concurrency is no worker option here: give it to inboxConsume",
    ],
  ],
  natsQueue: [
    ["natsQueue without jetstream", { connection: nats.connection }, "must be jetstream(conn"],
    ["natsQueue without connection", { jetstream }, "must be the connection of jetstream"],
    [
      "a JetStream client without jetstreamManager",
      { ...nats, jetstream: { publish: nothing } },
      "a version of @nats-io/jetstream without the method jetstreamManager",
    ],
    ["a queue name of natsQueue with a dot", { ...nats, queueName: "a.b" }, "must have no dot"],
    ["six replicas", { ...nats, replicas: 6 }, "replicas must be"],
  ],
  rabbitmqQueue: [
    ["rabbitmqQueue without connect", {}, "connect must be a function: () => amqplib.connect(url)"],
    ["a promise as connect", { connect: nothing() }, "connect must be a function"],
    ["a queue name with a slash", { connect: nothing, queueName: "a/b" }, "queueName must be"],
  ],
  cloudflareQueue: [
    ["cloudflareQueue without options", undefined, "takes an options object"],
    ["a binding that is missing", { queue: undefined }, "is it named in queues.producers"],
    ["a D1 binding as deadQueue", { queue: binding, deadQueue: {} }, "deadQueue must be"],
    ["a binding as queueName", { queue: binding, queueName: binding }, "queueName must be"],
    ["name", { queue: binding, name: "q" }, "name is no option of cloudflareQueue"],
  ],
  cloudflareQueueHandler: [
    ["cloudflareQueueHandler without options", undefined, "driver must be made by"],
    ["a driver without deadQueue", { driver: cloudflareQueue({ queue: binding }) }, "deadQueue"],
  ],
  sqsQueue: [
    ["sqsQueue without options", undefined, "takes an options object"],
    ["an SQSClient", { ...sqs, client: { send: nothing } }, "new SQS(config) in place of new SQSC"],
    ["an SQS of aws-sdk 2", { ...sqs, client: { ...client, send: 1 } }, "aws-sdk 2"],
    ["a queue's name as queueUrl", { client, queueUrl: "q" }, "queueUrl must be the URL of a"],
    ["a dead-letter queue's name", { ...sqs, deadQueueUrl: "q" }, "deadQueueUrl must be the URL"],
    ["one queue for both", { ...sqs, deadQueueUrl: queueUrl }, "must be another queue than"],
    ["a message of 2 MiB", { ...sqs, maxMessageBytes: 2_097_152 }, "maxMessageBytes must be"],
    ["maxReceiveCount of 1", { ...sqs, maxReceiveCount: 1 }, "maxReceiveCount must be"],
    ["deadLetterQueueUrl", { ...sqs, deadLetterQueueUrl: queueUrl }, "is no option of sqsQueue"],
  ],
  sqsHandler: [
    ["sqsHandler without options", undefined, "driver must be made by sqsQueue"],
    [
      "a driver that only writes",
      { driver: sqsQueue(sqs), store: memoryStore(), handlers },
      "with deadQueueUrl",
    ],
    [
      "sqsHandler without store",
      { driver: sqsQueue({ ...sqs, deadQueueUrl: `${queueUrl}-dead` }), handlers },
      "store must be given",
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
