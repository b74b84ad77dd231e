import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import type { InboxQueue } from "../support/inbox/inbox-engine.js";
import { describeEachEngine } from "../support/inbox/inbox-engines.js";
import {
  alarmDelivery,
  inboxReceiver,
  settlesAt,
  watchWorker,
} from "../support/inbox/receiver-and-worker.js";

describeEachEngine((engine) => {
  /** Queues deliveries and lets their only run fail. */
  const failForGood = async (queue: InboxQueue, ids: readonly string[]): Promise<void> => {
    const receiver = inboxReceiver(queue.enqueue);
    for (const id of ids) await receiver.receive(await alarmDelivery(1, id));
    const { reports, stop } = watchWorker(queue, () =>
      Promise.reject(new Error("the CRM is away")),
    );
    await settlesAt(() => reports.length, ids.length);
    await stop();
  };

  it("a dead delivery is listed without its body, and replayed once", async () => {
    const queue = await engine().open("replayed", { retryLimit: 0 });
    const id = randomUUID();
    await failForGood(queue, [id]);
    const letters = await queue.deadDeliveries.list();
    expect(letters).toEqual([
      {
        id,
        type: "new_alarm",
        attempts: 1,
        error: "Error: the CRM is away",
        failedAt: expect.any(Date) as Date,
      },
    ]);
    expect(Math.abs(Date.now() - Number(letters[0]?.failedAt))).toBeLessThan(30_000);

    const both = await Promise.all([
      queue.deadDeliveries.replay([id, id, "unknown"]),
      queue.deadDeliveries.replay("all"),
    ]);
    expect(both.flatMap(({ replayed }) => replayed)).toEqual([id]);
    expect(both[0].notFound).toContain("unknown");
    expect(await queue.deadDeliveries.list()).toEqual([]);

    const { reports, stop } = watchWorker(queue, () => undefined);
    await settlesAt(() => queue.completed(), 1);
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1, id));
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(2));
    await settlesAt(() => queue.completed(), 2);
    await stop();
    expect(reports).toHaveLength(2);
    expect(reports[0]).toMatchObject({ outcome: "handled", id, attempt: 1 });
    expect(await queue.deadDeliveries.replay([id])).toEqual({ replayed: [], notFound: [id] });
  });

  it("dead deliveries are listed in pages, replayed all at once and discarded by id", async () => {
    const queue = await engine().open("paged", { retryLimit: 0 });
    const ids = ["1", "wait", ...Array.from({ length: 3 }, () => randomUUID())];
    await failForGood(queue, ids);
    const pages = [
      await queue.deadDeliveries.list({ limit: 2 }),
      await queue.deadDeliveries.list({ limit: 2, offset: 2 }),
      await queue.deadDeliveries.list({ offset: 4 }),
    ];
    expect(pages.map((page) => page.length)).toEqual([2, 2, 1]);
    expect(pages.flatMap((page) => page.map(({ id }) => id)).toSorted()).toEqual(ids.toSorted());

    const [first = "", ...others] = ids;
    const discarded = await queue.deadDeliveries.discard([first, "unknown"]);
    expect(discarded).toEqual({ discarded: [first], notFound: ["unknown"] });
    const { replayed } = await queue.deadDeliveries.replay("all");
    expect(replayed.toSorted()).toEqual(others.toSorted());
    const handled: string[] = [];
    const { stop } = watchWorker(queue, (_, { id }) => handled.push(id));
    await settlesAt(() => handled.toSorted(), others.toSorted());
    await stop();
    expect(await queue.deadDeliveries.list()).toEqual([]);
  });

  it("jobs that the inbox did not make can be listed, replayed and discarded", async () => {
    const queue = await engine().open("strange", { retryLimit: 0 });
    await queue.put({ version: 2, of: "a later release" });
    await queue.put({ version: 3 });
    const { reports, stop } = watchWorker(queue, () => undefined);
    await settlesAt(() => reports.map(({ outcome }) => outcome), ["dead", "dead"]);
    const letters = await queue.deadDeliveries.list();
    expect(letters.map(({ type, error }) => [type, error])).toEqual(
      letters.map(() => [undefined, "GatewayWebhookError: the job was not made by the inbox"]),
    );
    const [first = "", second = ""] = letters.map(({ id }) => id);
    expect((await queue.deadDeliveries.discard([first])).discarded).toEqual([first]);
    expect((await queue.deadDeliveries.replay([second])).replayed).toEqual([second]);
    await settlesAt(() => reports.length, 3);
    await stop();
  });

  it("dead deliveries refuse wrong lists of ids and limits out of bounds", async () => {
    const { deadDeliveries } = await engine().open("refused");
    const refused = { name: "ConfigurationError" };
    await expect(deadDeliveries.replay("some" as "all")).rejects.toMatchObject(refused);
    await expect(deadDeliveries.discard([1] as never)).rejects.toMatchObject(refused);
    await expect(deadDeliveries.list({ limit: 0 })).rejects.toMatchObject(refused);
    await expect(deadDeliveries.list({ page: 1 } as never)).rejects.toMatchObject(refused);
    await expect(deadDeliveries.list(null as never)).rejects.toMatchObject(refused);
    await expect(deadDeliveries.replay("all", { max: 0 })).rejects.toMatchObject(refused);
  });
});
