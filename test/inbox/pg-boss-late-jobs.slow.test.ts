import { expect, it } from "vitest";
import { pgBossConsume } from "../../src/inbox/pg-boss/index.js";
import type { PgBossConsumer } from "../../src/inbox/pg-boss/client.js";
import { describeOnPgBoss } from "../support/inbox/inbox-engines.js";
import {
  alarmDelivery,
  inboxReceiver,
  settlesAt,
  settlesAtLine,
} from "../support/inbox/receiver-and-worker.js";

describeOnPgBoss("pg-boss", (engine) => {
  /** The same client, but its first jobs arrive only when a log line contains `until`. */
  const slow = (lines: readonly string[], until: string): PgBossConsumer => {
    let isFirst = true;
    return {
      async fetch(name, options) {
        const jobs = await engine().boss.fetch(name, options);
        if (isFirst && jobs.length > 0) {
          isFirst = false;
          await settlesAt(() => lines.some((line) => line.includes(until)), true);
        }
        return jobs;
      },
      getDb: () => engine().boss.getDb(),
    };
  };

  it("jobs that arrive after the timeout of their fetch run, within the concurrency", async () => {
    const queue = await engine().open("slow", { expireInMs: 60_000 });
    const receiver = inboxReceiver(queue.enqueue);
    for (const account of [1, 2, 3]) await receiver.receive(await alarmDelivery(account));
    const lines: string[] = [];
    const handled: [number, boolean][] = [];
    let running = 0;
    let most = 0;
    const stop = pgBossConsume({
      boss: slow(lines, "the fetch of jobs from pg-boss failed"),
      queueName: "slow",
      concurrency: 2,
      pollIntervalMs: 100,
      logger: { warn: (line) => lines.push(line), error: (line) => lines.push(line) },
      handlers: {
        new_alarm: async (alarm, { takeover }) => {
          running += 1;
          most = Math.max(most, running);
          handled.push([alarm.account_id, takeover]);
          await new Promise(setImmediate);
          running -= 1;
        },
      },
    });
    await settlesAt(() => queue.completed(), 3);
    await stop();
    expect(handled.toSorted()).toEqual([
      [1, false],
      [2, false],
      [3, false],
    ]);
    expect(most).toBeLessThanOrEqual(2);
  });

  it("jobs that arrive after they have expired are left to pg-boss", async () => {
    const queue = await engine().open("expired", { expireInMs: 1_000, retryDelayMs: 1_000 });
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
    const lines: string[] = [];
    const runs: boolean[] = [];
    const stop = pgBossConsume({
      boss: slow(lines, "the fetch of jobs from pg-boss failed"),
      queueName: "expired",
      pollIntervalMs: 100,
      logger: { warn: (line) => lines.push(line), error: (line) => lines.push(line) },
      handlers: { new_alarm: (_, { takeover }) => runs.push(takeover) },
    });
    await settlesAtLine(lines, "arrived after it had expired");
    await settlesAt(() => runs, [true]);
    await stop();
  });
});
