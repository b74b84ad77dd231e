import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { DiscardDelivery, RetryLater } from "../../src/index.js";
import type { JobReport } from "../../src/inbox/index.js";
import { describeEachEngine } from "../support/inbox/inbox-engines.js";
import {
  alarmDelivery,
  inboxReceiver,
  settlesAt,
  watchWorker,
} from "../support/inbox/receiver-and-worker.js";

describeEachEngine((engine) => {
  it("a job that fails for good is reported as dead once, with how to run it again", async () => {
    const queue = await engine().open("dies", { retryLimit: 1, retryDelayMs: 1_000 });
    const id = randomUUID();
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1, id));
    const cause = new Error("the CRM is away");
    const { reports, lines, stop } = watchWorker(queue, () => Promise.reject(cause));
    await settlesAt(() => reports.length, 2);
    await settlesAt(async () => (await queue.deadDeliveries.list()).length, 1);
    await stop();
    const aTime = expect.any(Number) as number;
    const times = { durationMs: aTime, waitedMs: aTime };
    const common = { id, type: "new_alarm", error: cause, ...times };
    expect(reports).toEqual([
      { outcome: "handler_failed", attempt: 1, lastAttempt: false, ...common },
      { outcome: "dead", attempt: 2, lastAttempt: true, ...common },
    ]);
    expect(reports[1]?.waitedMs).toBeGreaterThanOrEqual(900);
    expect(lines[0]).toContain(
      "handler_failed: The handler failed; the engine tries the job again",
    );
    expect(lines[1]).toContain("dead: The handler failed, and that was the last of 2 attempts");
    expect(lines[1]?.endsWith(`.replay(["${id}"])`)).toBe(true);
    expect(lines).toHaveLength(2);
  });

  it("a job whose handler throws RetryLater on the last attempt is reported as dead", async () => {
    const queue = await engine().open("dies-later", { retryLimit: 1 });
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
    const { reports, stop } = watchWorker(queue, () =>
      Promise.reject(new RetryLater({ afterMs: 1_000 })),
    );
    await settlesAt(() => reports.map(({ outcome }) => outcome), ["retry_later", "dead"]);
    await stop();
  });

  it("onJob gets handled deliveries, discarded ones and those without a handler", async () => {
    const queue = await engine().open("reported");
    const receiver = inboxReceiver(queue.enqueue);
    for (const account of [1, 2]) await receiver.receive(await alarmDelivery(account));
    const { reports, stop } = watchWorker(queue, (alarm) => {
      if (alarm.account_id === 2) throw new DiscardDelivery({ reason: "not ours" });
    });
    await settlesAt(() => reports.length, 2);
    await stop();
    const outcomes = reports.map(({ outcome, error }) => [outcome, String(error)]);
    expect(outcomes.toSorted()).toEqual([
      ["discarded", "DiscardDelivery: not ours"],
      ["handled", "undefined"],
    ]);
    for (const report of reports) {
      expect(report).toMatchObject({ attempt: 1, lastAttempt: false });
      expect(report).not.toHaveProperty("takeover");
    }

    await receiver.receive(await alarmDelivery(3));
    const unhandled: JobReport[] = [];
    const stopOther = queue.consume({
      handlers: { delete_my_data_event: () => undefined },
      onJob: (report) => unhandled.push(report),
    });
    await settlesAt(() => unhandled.map(({ outcome }) => outcome), ["discarded"]);
    await stopOther();
    expect(await queue.completed()).toBe(3);
  });

  it.each<[string, () => unknown]>([
    [
      "throws",
      () => {
        throw new Error("no");
      },
    ],
    ["rejects", () => Promise.reject(new Error("no"))],
  ])("a worker goes on if onJob %s", async (how, onJob) => {
    const queue = await engine().open(`on-job-${how}`, { retryLimit: 0 });
    const receiver = inboxReceiver(queue.enqueue);
    for (const account of [1, 2]) await receiver.receive(await alarmDelivery(account));
    const { stop } = watchWorker(
      queue,
      (alarm) => {
        if (alarm.account_id === 2) throw new Error("away");
      },
      { onJob },
    );
    await settlesAt(() => queue.completed(), 1);
    await settlesAt(async () => (await queue.dead()).length, 1);
    await stop();
  });

  it("a replayed delivery that fails for good again is reported as dead again, with all attempts", async () => {
    const queue = await engine().open("dies-again", { retryLimit: 1, retryDelayMs: 1_000 });
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
    const { reports, stop } = watchWorker(queue, () => Promise.reject(new Error("still away")));
    await settlesAt(() => reports.length, 2);
    await queue.deadDeliveries.replay("all");
    await settlesAt(() => reports.length, 4);
    await stop();
    expect(reports.map(({ outcome, attempt }) => [outcome, attempt])).toEqual([
      ["handler_failed", 1],
      ["dead", 2],
      ["handler_failed", 1],
      ["dead", 2],
    ]);
    expect(await queue.deadDeliveries.list()).toHaveLength(1);
  });
});
