import { describe, expect, it } from "vitest";
import { inbox, type InboxJob, type QueueProducer } from "../../src/inbox/index.js";
import { createWebhookReceiver, DiscardDelivery, RetryLater } from "../../src/index.js";
import { sampleOnlineDataEvent, signedDelivery } from "../../kit/index.js";
import { CANARIES, canariesIn } from "../support/canaries.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { deferred, never } from "../support/deferred.js";
import { rejects, throws } from "../support/faults.js";
import {
  alarmDelivery,
  deliverCanaries,
  inboxReceiver,
  keepingQueue,
} from "../support/inbox/receiver-and-worker.js";
import { send } from "../support/alarm-receiver.js";

const secret = TEST_SECRET;

describe("inbox", () => {
  it("an inbox queues alarms, events and what it does not recognize", async () => {
    const { jobs, driver } = keepingQueue();
    const receiver = inboxReceiver(driver);
    const event = sampleOnlineDataEvent("DATA_REAPPEARED");
    const deliveries = [
      await alarmDelivery(1),
      await signedDelivery({ event, secret }),
      await signedDelivery({ type: "new_alarm", body: "{", secret }),
      await signedDelivery({ type: "added_since", body: '{"later":1}', secret }),
    ];
    for (const delivery of deliveries) {
      expect(await send(receiver, delivery)).toBe("200 handled");
    }
    expect(jobs.map(({ type, body }) => [type, body])).toEqual(
      deliveries.map(({ headers, body }) => [headers["X-Webhook-Type"], body]),
    );
  });

  it("an inbox queues a single type if only its handler is used", async () => {
    const { jobs, driver } = keepingQueue();
    const here: unknown[] = [];
    const receiver = createWebhookReceiver({
      secret,
      handlers: {
        ...inbox({ driver }),
        delete_my_data_event: (event) => here.push(event.type),
      },
      logger: false,
    });
    await receiver.receive(await alarmDelivery(1));
    const event = sampleOnlineDataEvent("DATA_DELETED");
    await receiver.receive(await signedDelivery({ event, secret }));
    expect([jobs.length, here]).toEqual([1, ["DATA_DELETED"]]);
  });

  it("an inbox answers the gateway after the write and not before", async () => {
    const written = deferred();
    const receiver = inboxReceiver({ put: () => written.promise });
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

  it.each<[string, QueueProducer["put"]]>([
    ["rejects", rejects],
    ["throws", throws],
    ["never ends", never],
    // The function forgot its `return`.
    ["returns no promise", (() => undefined) as unknown as QueueProducer["put"]],
  ])("an inbox answers 500 if the write %s, and takes the next attempt", async (_, broken) => {
    let put = broken;
    const receiver = inboxReceiver({ put: (job, context) => put(job, context) }, 20);
    const delivery = await alarmDelivery(1);
    expect(await send(receiver, delivery)).toBe("500 handler_failed");
    put = () => Promise.resolve();
    expect((await receiver.receive(delivery)).status).toBe(200);
  });

  it("put gets the context, so that the write can join a transaction", async () => {
    const ids: string[] = [];
    const receiver = inboxReceiver({ put: (_, { id }) => Promise.resolve(ids.push(id)) });
    await receiver.receive(await alarmDelivery(1, "a"));
    expect(ids).toEqual(["a"]);
  });
});

// No part of a body may appear in the logs, reports and answers of an inbox, whatever the error of an engine contains.
// The errors of a user's handlers are not checked: they belong to the user.
describe("an error of the user's own enqueue", () => {
  it.each<[string, (job: InboxJob) => unknown, string]>([
    [
      "an error that quotes the job",
      (job) => new Error(`no room for ${job.body}`),
      "Error: no room for",
    ],
    [
      "an error with the job as its cause",
      (job) => new Error("no room", { cause: job }),
      "Error: no room",
    ],
    [
      "an error that keeps the command",
      (job) => Object.assign(new Error("OOM used memory > 'max'"), { command: { args: [job] } }),
      "Error: OOM used memory",
    ],
    [
      "an error of several errors",
      (job) => new AggregateError([new Error(job.body)], "all failed"),
      "AggregateError: all failed",
    ],
    [
      "an error with a code",
      () => Object.assign(new Error(""), { code: "ECONNREFUSED" }),
      "ECONNREFUSED",
    ],
    [
      "an error with a code of PostgreSQL",
      () => Object.assign(new Error("x"), { code: "42P01" }),
      "Error: 42P01: x",
    ],
    [
      "an error with parts of the body in every field",
      (job) =>
        Object.assign(new Error(job.body), {
          name: CANARIES.iban,
          code: CANARIES.iban,
          stack: job.body,
        }),
      "could not be put into the queue",
    ],
    ["the body itself", (job) => job.body, "could not be put into the queue"],
    ["the job itself", (job) => job, "could not be put into the queue"],
    [
      "an error that cannot be read",
      () => new Proxy({}, { get: throws }),
      "could not be put into the queue",
    ],
  ])("%s, thrown by put, is reported without the body", async (_, makeError, expected) => {
    const { outcome, said } = await deliverCanaries({
      put: (job) => Promise.reject(makeError(job)),
    });
    expect(outcome).toBe("handler_failed");
    expect(canariesIn(said)).toEqual([]);
    expect(said).toContain(expected);
  });

  it("RetryLater and DiscardDelivery of a put keep their meaning", async () => {
    const later = await deliverCanaries({ put: () => Promise.reject(new RetryLater()) });
    const never = await deliverCanaries({
      put: () => Promise.reject(new DiscardDelivery({ reason: "a test account" })),
    });
    expect([later.outcome, never.outcome]).toEqual(["retry_later", "discarded"]);
  });
});
