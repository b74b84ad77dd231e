import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { DiscardDelivery, RetryLater, type Alarm, type DeliveryContext } from "../../src/index.js";
import { deferred } from "../support/deferred.js";
import { describeEachEngine } from "../support/inbox/inbox-engines.js";
import {
  alarmDelivery,
  inboxReceiver,
  settlesAt,
  watchWorker,
} from "../support/inbox/receiver-and-worker.js";

describeEachEngine((engine, name) => {
  it("each of 200 deliveries is handled once, however often the gateway sends it", async () => {
    const queue = await engine().open("each-once");
    const handled: number[] = [];
    const { stop } = watchWorker(queue, (alarm) => handled.push(alarm.account_id));
    const deliveries = await Promise.all(Array.from({ length: 200 }, (_, n) => alarmDelivery(n)));
    // Two receivers, each with its own memory store, like two processes.
    const receivers = [inboxReceiver(queue.enqueue), inboxReceiver(queue.enqueue)];
    const answers = await Promise.all(
      receivers.flatMap((receiver) => deliveries.map((delivery) => receiver.receive(delivery))),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));

    await settlesAt(() => queue.completed(), 200);
    const late = inboxReceiver(queue.enqueue);
    for (const delivery of deliveries.slice(0, 20)) await late.receive(delivery);
    await stop();
    expect(handled.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, n) => n));
  });

  it("the handler of a worker gets the record and the context of the delivery", async () => {
    const queue = await engine().open("context");
    const seen: [Alarm, DeliveryContext][] = [];
    const delivery = await alarmDelivery(7);
    await inboxReceiver(queue.enqueue).receive(delivery);
    const { stop } = watchWorker(queue, (alarm, context) => seen.push([alarm, context]));
    await settlesAt(() => seen.length, 1);
    await stop();
    const [alarm, context] = seen[0] ?? [];
    expect(alarm?.account_id).toBe(7);
    expect(context).toMatchObject({
      id: delivery.headers["X-Webhook-Id"],
      type: "new_alarm",
      timestamp: new Date(Number(delivery.headers["X-Webhook-Timestamp"]) * 1000),
      takeover: false,
    });
    expect(Buffer.from(context?.rawBody ?? []).toString()).toBe(delivery.body);
  });

  it("bodies that are not UTF-8 and ids that are not UUIDs reach the handler unchanged", async () => {
    const queue = await engine().open("odd");
    const seen: [string, number[]][] = [];
    const body = Uint8Array.of(0xff, 0x00, 0xfe);
    const job = { version: 1, timestamp: 1, type: "new_alarm" } as const;
    const ids = ["123", "wait", "meta", "A.b_c-", randomUUID().toUpperCase()];
    for (const id of [...ids, ...ids]) {
      const context = { id, type: "x", timestamp: new Date(), rawBody: body } as DeliveryContext;
      await queue.enqueue.put({ ...job, id, encoding: "base64", body: "/wD+" }, context);
    }
    const stop = queue.consume({
      handlers: { unrecognized: (_, { id, rawBody }) => seen.push([id, [...rawBody]]) },
    });
    await settlesAt(() => queue.completed(), ids.length);
    await stop();
    expect(seen.toSorted()).toEqual(ids.map((id) => [id, [...body]]).toSorted());
  });

  it("a failed job runs again, and at its limit it is dead-lettered with its error", async () => {
    const queue = await engine().open("failing", { retryLimit: 1, retryDelayMs: 1_000 });
    const runs: boolean[] = [];
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
    const { stop } = watchWorker(queue, (_, { takeover }) => {
      runs.push(takeover);
      throw new Error("the CRM is \0 \ud800 away");
    });
    await settlesAt(async () => (await queue.dead()).length, 1);
    await stop();
    // A failed run has a result, so the next run is no takeover.
    expect(runs).toEqual([false, false]);
    const [letter] = await queue.dead();
    expect(letter?.error).toMatch(/^Error: the CRM is/);
    expect(letter?.data).toMatchObject({ version: 1, type: "new_alarm" });
  });

  it("a redelivery of a dead delivery gets all its attempts again", async () => {
    const queue = await engine().open("dead-once", { retryLimit: 0 });
    const delivery = await alarmDelivery(1);
    await inboxReceiver(queue.enqueue).receive(delivery);
    let runs = 0;
    const { stop } = watchWorker(queue, () => {
      runs += 1;
      throw new Error("never");
    });
    await settlesAt(async () => (await queue.dead()).length, 1);
    expect((await inboxReceiver(queue.enqueue).receive(delivery)).status).toBe(200);
    await settlesAt(() => runs, 2);
    // BullMQ runs the dead job again, and pg-boss gets a second one.
    const left = name === "bullmq" ? 1 : 2;
    await settlesAt(async () => (await queue.dead()).length, left);
    expect(new Set((await queue.deadDeliveries.list()).map(({ id }) => id)).size).toBe(1);
    await stop();
  });

  it("a job runs again after the delay of RetryLater, which counts as an attempt", async () => {
    const queue = await engine().open("later", { retryLimit: 2, retryDelayMs: 60_000 });
    const runs: number[] = [];
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
    const { stop } = watchWorker(queue, () => {
      runs.push(Date.now());
      throw new RetryLater({ afterMs: 1_500 });
    });
    await settlesAt(async () => (await queue.dead()).length, 1);
    await stop();
    expect(runs).toHaveLength(3);
    const gaps = runs.slice(1).map((at, n) => at - (runs[n] ?? 0));
    for (const gap of gaps) expect(gap).toBeGreaterThanOrEqual(1_450);
  });

  it("a job is completed if its handler throws DiscardDelivery", async () => {
    const queue = await engine().open("discarded");
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
    let runs = 0;
    const { stop } = watchWorker(queue, () => {
      runs += 1;
      throw new DiscardDelivery({ reason: "not ours" });
    });
    await settlesAt(() => queue.completed(), 1);
    await stop();
    expect(runs).toBe(1);
    expect(await queue.dead()).toEqual([]);
  });

  it("a worker dead-letters jobs that the inbox did not make, and goes on", async () => {
    const queue = await engine().open("hostile", { retryLimit: 0 });
    for (const data of [{}, { list: [1] }, { version: 2, id: "x" }, { version: 1, id: "a:b" }]) {
      await queue.put(data);
    }
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(5));
    const handled: number[] = [];
    const { stop } = watchWorker(queue, (alarm) => handled.push(alarm.account_id));
    await settlesAt(async () => (await queue.dead()).length, 4);
    await settlesAt(() => handled, [5]);
    await stop();
    for (const { error } of await queue.dead()) {
      expect(error).toMatch(/the job was not made by the inbox: expected /);
    }
  });

  it("a stopped worker aborts the signal, waits for running jobs and takes no more", async () => {
    const queue = await engine().open("stopped");
    const receiver = inboxReceiver(queue.enqueue);
    await receiver.receive(await alarmDelivery(1));
    const started = deferred();
    let ended = 0;
    const { stop } = watchWorker(
      queue,
      async (_, { signal }) => {
        started.resolve();
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        ended += 1;
      },
      { concurrency: 1 },
    );
    await started.promise;
    await receiver.receive(await alarmDelivery(2));
    await Promise.all([stop(), stop()]);
    expect(ended).toBe(1);
    expect(await queue.completed()).toBe(1);
  });
});
