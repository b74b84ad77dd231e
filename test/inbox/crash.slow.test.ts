import { afterEach, expect, it } from "vitest";
import { startInboxChild, type InboxChild } from "../support/inbox/inbox-child.js";
import { describeEachEngine } from "../support/inbox/inbox-engines.js";
import {
  alarmDelivery,
  inboxReceiver,
  settlesAt,
  watchWorker,
} from "../support/inbox/receiver-and-worker.js";

describeEachEngine((engine, name) => {
  const children: InboxChild[] = [];

  const start = (queue: string, role: "receiver" | "worker"): InboxChild => {
    const child = startInboxChild(name, engine().url, queue, role);
    children.push(child);
    return child;
  };

  afterEach(async () => {
    await Promise.all(children.splice(0).map((child) => child.kill()));
  });

  it("the queue has a job for every delivery that a killed receiver had acknowledged", async () => {
    const queue = await engine().open("receiver-killed");
    const receiver = start("receiver-killed", "receiver");
    const url = await receiver.line();
    const deliveries = await Promise.all(Array.from({ length: 60 }, (_, n) => alarmDelivery(n)));
    const acknowledged: number[] = [];
    await Promise.allSettled(
      deliveries.map(async (delivery, n) => {
        const { status } = await fetch(url, delivery);
        if (status !== 200) return;
        acknowledged.push(n);
        // Other requests are still open.
        if (acknowledged.length === 10) await receiver.kill();
      }),
    );
    expect(acknowledged.length).toBeGreaterThanOrEqual(10);
    // No worker runs yet, so these are all the jobs.
    expect(await queue.jobs()).toBeGreaterThanOrEqual(acknowledged.length);

    const handled: number[] = [];
    const { stop } = watchWorker(queue, (alarm) => handled.push(alarm.account_id));
    await settlesAt(() => acknowledged.filter((n) => !handled.includes(n)), []);
    // The gateway sends everything again: what was not acknowledged, and redeliveries.
    const second = inboxReceiver(queue.enqueue);
    const answers = await Promise.all(deliveries.map((delivery) => second.receive(delivery)));
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    await settlesAt(() => queue.completed(), 60);
    await stop();
    expect(handled.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, n) => n));
  });

  it("another worker takes over the job of a killed worker, and a retry after that is still a takeover", async () => {
    const queue = await engine().open("worker-killed", { retryDelayMs: 1_000 });
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(3));
    const killed = start("worker-killed", "worker");
    expect(await killed.line()).toBe("working");
    expect(await killed.line()).toBe("began 3, takeover false");
    await killed.kill();

    const runs: boolean[] = [];
    const { stop } = watchWorker(queue, (_, { takeover }) => {
      runs.push(takeover);
      if (runs.length === 1) throw new Error("once more");
    });
    await settlesAt(() => queue.completed(), 1);
    await stop();
    expect(runs).toEqual([true, true]);
  });

  it("a receiver answers 500 while the engine is away, and 200 when it is back", async () => {
    const queue = await engine().open("engine-away");
    const receiver = inboxReceiver(queue.enqueue, 2_000);
    const [first, second] = [await alarmDelivery(1), await alarmDelivery(2)];
    expect((await receiver.receive(first)).status).toBe(200);
    const handled: number[] = [];
    const { stop } = watchWorker(queue, (alarm) => handled.push(alarm.account_id));
    await settlesAt(() => handled, [1]);

    await engine().kill();
    expect(await receiver.receive(second)).toMatchObject({
      status: 500,
      outcome: "handler_failed",
    });
    await engine().start();
    await settlesAt(async () => (await receiver.receive(second)).status, 200);
    await settlesAt(() => handled, [1, 2]);
    await stop();
  });
});
