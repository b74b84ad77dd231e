import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { DiscardDelivery, RetryLater, type Handlers } from "../../src/index.js";
import type { JobReport } from "../../src/inbox/index.js";
import {
  describeEngine,
  type InboxEngine,
  type InboxQueue,
} from "../support/inbox/inbox-engine.js";
import { ENGINES } from "../support/inbox/inbox-engines.js";
import { alarmDelivery, inboxReceiver, settlesAt } from "../support/inbox/inbox-receiver.js";

for (const [service, isThere, startEngine] of ENGINES) {
  describeEngine(service, isThere, () => {
    let engine: InboxEngine;

    beforeAll(async () => {
      engine = await startEngine();
    });
    afterAll(() => engine.close());

    /** A worker with what it reports and writes. */
    const watch = (queue: InboxQueue, newAlarm: Handlers["new_alarm"]) => {
      const reports: JobReport[] = [];
      const lines: string[] = [];
      const take = (line: string) => lines.push(line);
      const stop = queue.consume({
        handlers: { new_alarm: newAlarm },
        onJob: (report) => reports.push(report),
        logger: { warn: take, error: take },
      });
      return { reports, lines, stop };
    };

    /** Puts deliveries in and lets their only run fail. */
    const letDie = async (queue: InboxQueue, ids: readonly string[]): Promise<void> => {
      const receiver = inboxReceiver(queue.enqueue);
      for (const id of ids) await receiver.receive(await alarmDelivery(1, id));
      const { reports, stop } = watch(queue, () => Promise.reject(new Error("the CRM is away")));
      await settlesAt(() => reports.length, ids.length);
      await stop();
    };

    it("reports a job that fails for good as dead, once, and says how to run it again", async () => {
      const queue = await engine.open("dies", { retryLimit: 1, retryDelayMs: 1_000 });
      const id = randomUUID();
      await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1, id));
      const cause = new Error("the CRM is away");
      const { reports, lines, stop } = watch(queue, () => Promise.reject(cause));
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
      expect(lines[1]).toMatch(new RegExp(`deadDeliveries\\(.*\\)\\.replay\\(\\["${id}"\\]\\)$`));
      expect(lines).toHaveLength(2);
    });

    it("reports a job whose handler asks for it later on the last attempt as dead", async () => {
      const queue = await engine.open("dies-later", { retryLimit: 1 });
      await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
      const { reports, stop } = watch(queue, () =>
        Promise.reject(new RetryLater({ afterMs: 1_000 })),
      );
      await settlesAt(() => reports.map(({ outcome }) => outcome), ["retry_later", "dead"]);
      await stop();
    });

    it("reports a success, a discarded delivery and one that no handler is given for", async () => {
      const queue = await engine.open("reported");
      const receiver = inboxReceiver(queue.enqueue);
      for (const account of [1, 2]) await receiver.receive(await alarmDelivery(account));
      const { reports, stop } = watch(queue, (alarm) => {
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
    ])("goes on where onJob %s", async (how, onJob) => {
      const queue = await engine.open(`on-job-${how}`, { retryLimit: 0 });
      const receiver = inboxReceiver(queue.enqueue);
      for (const account of [1, 2]) await receiver.receive(await alarmDelivery(account));
      const stop = queue.consume({
        handlers: {
          new_alarm: (alarm) => {
            if (alarm.account_id === 2) throw new Error("away");
          },
        },
        onJob,
      });
      await settlesAt(() => queue.completed(), 1);
      await settlesAt(async () => (await queue.dead()).length, 1);
      await stop();
    });

    it("lists a dead delivery without its body, and replays it once, as a takeover", async () => {
      const queue = await engine.open("replayed", { retryLimit: 0 });
      const id = randomUUID();
      await letDie(queue, [id]);
      const letters = await queue.deadDeliveries.list();
      expect(letters).toEqual([
        {
          ...{ id, type: "new_alarm", attempts: 1, error: "Error: the CRM is away" },
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

      const takeovers: boolean[] = [];
      const { reports, stop } = watch(queue, (_, { takeover }) => takeovers.push(takeover));
      await settlesAt(() => queue.completed(), 1);
      await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1, id));
      await inboxReceiver(queue.enqueue).receive(await alarmDelivery(2));
      await settlesAt(() => queue.completed(), 2);
      await stop();
      expect(takeovers).toEqual([true, false]);
      expect(reports[0]).toMatchObject({ outcome: "handled", id, attempt: 1, takeover: true });
      expect(await queue.deadDeliveries.replay([id])).toEqual({ replayed: [], notFound: [id] });
    });

    it("reports a replayed delivery that dies again, with all of its attempts", async () => {
      const queue = await engine.open("dies-again", { retryLimit: 1, retryDelayMs: 1_000 });
      await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
      const takeovers: boolean[] = [];
      const { reports, stop } = watch(queue, (_, { takeover }) => {
        takeovers.push(takeover);
        throw new Error("still away");
      });
      await settlesAt(() => reports.length, 2);
      await queue.deadDeliveries.replay("all");
      await settlesAt(() => reports.length, 4);
      await stop();
      expect(takeovers).toEqual([false, false, true, true]);
      expect(reports.map(({ outcome, attempt }) => [outcome, attempt])).toEqual([
        ["handler_failed", 1],
        ["dead", 2],
        ["handler_failed", 1],
        ["dead", 2],
      ]);
      expect(await queue.deadDeliveries.list()).toHaveLength(1);
    });

    it("pages through dead deliveries, replays all and discards some", async () => {
      const queue = await engine.open("paged", { retryLimit: 0 });
      const ids = ["1", "wait", ...Array.from({ length: 3 }, () => randomUUID())];
      await letDie(queue, ids);
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
      const { stop } = watch(queue, (_, { id }) => handled.push(id));
      await settlesAt(() => queue.completed(), 5);
      // A copy of the discarded one is still a duplicate.
      await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1, first));
      await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1, "last"));
      await settlesAt(() => queue.completed(), 6);
      await stop();
      expect(handled.toSorted()).toEqual([...others, "last"].toSorted());
      expect(await queue.deadDeliveries.list()).toEqual([]);
    });

    it("lists, replays and discards what is no job of ours", async () => {
      const queue = await engine.open("strange", { retryLimit: 0 });
      await queue.put({ version: 2, of: "a later release" });
      await queue.put({ version: 3 });
      const { reports, stop } = watch(queue, () => undefined);
      await settlesAt(() => reports.map(({ outcome }) => outcome), ["dead", "dead"]);
      const letters = await queue.deadDeliveries.list();
      expect(letters.map(({ type, error }) => [type, error])).toEqual(
        letters.map(() => [undefined, "UnreadableJobError: the job is not one of the inbox"]),
      );
      const [first = "", second = ""] = letters.map(({ id }) => id);
      expect((await queue.deadDeliveries.discard([first])).discarded).toEqual([first]);
      expect((await queue.deadDeliveries.replay([second])).replayed).toEqual([second]);
      await settlesAt(() => reports.length, 3);
      await stop();
    });

    it("refuses what is no list of ids, and limits out of bounds", async () => {
      const { deadDeliveries } = await engine.open("refused");
      const refused = { name: "ConfigurationError" };
      await expect(deadDeliveries.replay("some" as "all")).rejects.toMatchObject(refused);
      await expect(deadDeliveries.discard([1] as never)).rejects.toMatchObject(refused);
      await expect(deadDeliveries.list({ limit: 0 })).rejects.toMatchObject(refused);
      await expect(deadDeliveries.list({ page: 1 } as never)).rejects.toMatchObject(refused);
      await expect(deadDeliveries.list(null as never)).rejects.toMatchObject(refused);
    });
  });
}
