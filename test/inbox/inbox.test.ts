import { describe, expect, it } from "vitest";
import {
  bullmqConsume,
  bullmqEnqueue,
  deadDeliveries as bullmqDead,
} from "../../src/inbox/bullmq/index.js";
import { inbox, type Enqueue, type InboxJob } from "../../src/inbox/index.js";
import {
  deadDeliveries as pgBossDead,
  pgBossConsume,
  pgBossEnqueue,
} from "../../src/inbox/pg-boss/index.js";
import { createWebhookReceiver, type ConfigurationError } from "../../src/index.js";
import { sampleOnlineDataEvent, signedDelivery } from "../../src/testing/index.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { deferred, never } from "../support/deferred.js";
import { alarmDelivery, inboxReceiver } from "../support/inbox/inbox-receiver.js";

const secret = TEST_SECRET;

describe("a receiver with an inbox", () => {
  it("hands over alarms, events, and what it does not recognize", async () => {
    const jobs: InboxJob[] = [];
    const receiver = inboxReceiver((job) => Promise.resolve(jobs.push(job)));
    const event = sampleOnlineDataEvent("DATA_REAPPEARED");
    const deliveries = [
      await alarmDelivery(1),
      await signedDelivery({ event, secret }),
      await signedDelivery({ type: "new_alarm", body: "{", secret }),
      await signedDelivery({ type: "added_since", body: '{"later":1}', secret }),
    ];
    for (const delivery of deliveries) {
      expect(await receiver.receive(delivery)).toMatchObject({ status: 200, outcome: "handled" });
    }
    expect(jobs.map(({ type, body }) => [type, body])).toEqual(
      deliveries.map(({ headers, body }) => [headers["X-Webhook-Type"], body]),
    );
  });

  it("hands over one type alone, where only that handler is taken", async () => {
    const jobs: InboxJob[] = [];
    const here: unknown[] = [];
    const receiver = createWebhookReceiver({
      secret,
      handlers: {
        ...inbox({ enqueue: (job) => Promise.resolve(jobs.push(job)) }),
        delete_my_data_event: (event) => here.push(event.type),
      },
      logger: false,
    });
    await receiver.receive(await alarmDelivery(1));
    const event = sampleOnlineDataEvent("DATA_DELETED");
    await receiver.receive(await signedDelivery({ event, secret }));
    expect([jobs.length, here]).toEqual([1, ["DATA_DELETED"]]);
  });

  it("acknowledges after the write and not before", async () => {
    const written = deferred();
    const receiver = inboxReceiver(() => written.promise);
    let answered = false;
    const answer = receiver.receive(await alarmDelivery(1)).then((response) => {
      answered = true;
      return response;
    });
    await new Promise(setImmediate);
    expect(answered).toBe(false);
    written.resolve();
    expect((await answer).status).toBe(200);
  });

  it.each<[string, Enqueue]>([
    ["rejects", () => Promise.reject(new Error("the queue is away"))],
    [
      "throws",
      () => {
        throw new Error("the queue is away");
      },
    ],
    ["does not end", () => never()],
    // As a function does that forgets its `return`.
    ["returns no promise", (() => undefined) as unknown as Enqueue],
  ])("answers 500 where the write %s, and takes the next attempt", async (_, broken) => {
    let enqueue = broken;
    const receiver = inboxReceiver((job, context) => enqueue(job, context), 20);
    const delivery = await alarmDelivery(1);
    expect(await receiver.receive(delivery)).toMatchObject({
      status: 500,
      outcome: "handler_failed",
    });
    enqueue = () => Promise.resolve();
    expect((await receiver.receive(delivery)).status).toBe(200);
  });

  it("gives enqueue the context, so that the write can join a transaction", async () => {
    const ids: string[] = [];
    const receiver = inboxReceiver((_, { id }) => Promise.resolve(ids.push(id)));
    await receiver.receive(await alarmDelivery(1, "a"));
    expect(ids).toEqual(["a"]);
  });
});

describe("an option that cannot work", () => {
  const nothing = () => Promise.resolve(undefined as never);
  const boss = {
    ...{ createQueue: nothing, send: nothing, getJobById: nothing, fetch: nothing },
    ...{ complete: nothing, fail: nothing, getDb: () => ({ executeSql: nothing }) },
  };
  const queue = { add: nothing };
  const handlers = { new_alarm: () => undefined };
  class Worker {
    on = nothing;
    close = nothing;
    disconnect = nothing;
    toKey = () => "";
  }
  const worker = { Worker, queue: "q", workerOptions: {}, handlers };

  it.each<[string, () => unknown, string]>([
    ["inbox without enqueue", () => inbox({} as never), "enqueue has to be"],
    ["inbox without options", () => inbox(undefined as never), "takes an options object"],
    ["a misspelt option", () => inbox({ enqueue: nothing, timeout: 1 } as never), "timeout is no"],
    ["a time of 0", () => inbox({ enqueue: nothing, enqueueTimeoutMs: 0 }), "enqueueTimeoutMs"],
    ["no boss", () => pgBossEnqueue({ boss: undefined as never }), "boss has to have"],
    ["half a boss", () => pgBossEnqueue({ boss: queue as never }), "the method createQueue"],
    ["a queue's name", () => pgBossEnqueue({ boss, queue: "a b" }), "queue has to be a queue's"],
    ["dead letters", () => pgBossEnqueue({ boss, queue: "a", deadLetter: "a" }), "another queue"],
    ["a limit of -1", () => pgBossEnqueue({ boss, retryLimit: -1 }), "retryLimit"],
    ["a day's expiry", () => pgBossEnqueue({ boss, expireInMs: 86_400_000 }), "expireInMs"],
    ["a short wait", () => pgBossEnqueue({ boss, pendingRetentionMs: 1 }), "pendingRetentionMs"],
    ["no pg-boss options", () => pgBossEnqueue(null as never), "takes an options object"],
    ["no handlers", () => pgBossConsume({ boss, handlers: {} }), "handlers: give at least one"],
    ["a schema", () => pgBossConsume({ boss, handlers, schema: "a;b" }), "schema has to be"],
    [
      "no function",
      () => pgBossConsume({ boss, handlers, onJob: "log" as never }),
      "onJob has to be a function",
    ],
    ["no client", () => bullmqDead({ queue: undefined as never }), "queue has to have"],
    ["no dead options", () => bullmqDead(undefined as never), "takes an options object"],
    ["no dead boss", () => pgBossDead({ boss: {} as never }), "the method getDb"],
    ["no pg-boss dead options", () => pgBossDead(null as never), "takes an options object"],
    ["no slot", () => pgBossConsume({ boss, handlers, concurrency: 0 }), "concurrency"],
    ["no worker options", () => pgBossConsume(undefined as never), "takes an options object"],
    [
      "a logger",
      () => pgBossConsume({ boss, handlers, logger: {} as never }),
      "logger has to have",
    ],
    ["no queue", () => bullmqEnqueue({ queue: undefined as never }), "queue has to have"],
    ["71 hours", () => bullmqEnqueue({ queue, retentionMs: 71 * 3_600_000 }), "retentionMs"],
    ["no options", () => bullmqEnqueue(undefined as never), "takes an options object"],
    ["no class", () => bullmqConsume({ ...worker, Worker: {} as never }), "Worker has to be"],
    ["a colon", () => bullmqConsume({ ...worker, queue: "a:b" }), "queue has to be"],
    [
      "no connection",
      () => bullmqConsume({ ...worker, workerOptions: null as never }),
      "connection",
    ],
    ["nothing", () => bullmqConsume(undefined as never), "takes an options object"],
    [
      "concurrency",
      () => bullmqConsume({ ...worker, concurrency: 1 } as never),
      "concurrency is no",
    ],
  ])("is refused with what to change: %s", (_, make, message) => {
    expect(make).toThrow(
      expect.objectContaining<Partial<ConfigurationError>>({
        name: "ConfigurationError",
        message: expect.stringContaining(message) as string,
      }) as Error,
    );
  });
});
