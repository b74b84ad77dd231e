import { expect, it } from "vitest";
import { memoryStore } from "../../src/index.js";
import { inboxConsume } from "../../src/inbox/index.js";
import { pgBossQueue } from "../../src/inbox/pg-boss/index.js";
import type { PgBossClient } from "../../src/inbox/pg-boss/client.js";
import { deferred } from "../support/deferred.js";
import { describeOnPgBoss } from "../support/inbox/inbox-engines.js";
import { overriding } from "../support/inbox/inbox-pg-boss-engine.js";
import { alarmDelivery, inboxReceiver, settlesAt } from "../support/inbox/receiver-and-worker.js";

describeOnPgBoss("pg-boss", (engine) => {
  /** The same client, but `wait` sees its first jobs before they arrive. */
  const slow = (wait: () => Promise<unknown>): PgBossClient => {
    let isFirst = true;
    return overriding(engine().boss, {
      async fetch(name, options) {
        const jobs = await engine().boss.fetch(name, options);
        if (isFirst && jobs.length > 0) {
          isFirst = false;
          await wait();
        }
        return jobs;
      },
    });
  };

  it("jobs that arrive after the timeout of their fetch run, within the concurrency", async () => {
    const queue = await engine().open("slow");
    const receiver = inboxReceiver(queue.enqueue);
    for (const account of [1, 2, 3]) await receiver.receive(await alarmDelivery(account));
    const errors: unknown[] = [];
    const handled: [number, boolean][] = [];
    let running = 0;
    let most = 0;
    const boss = slow(() => settlesAt(() => errors.length, 1));
    const { stop } = inboxConsume({
      driver: pgBossQueue({ boss, queueName: "slow", pollIntervalMs: 100 }),
      store: memoryStore(),
      concurrency: 2,
      logger: { warn: () => undefined, error: (_, { err }) => errors.push(err) },
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
    await settlesAt(() => queue.jobs(), 0);
    await stop();
    expect(errors).toEqual([expect.objectContaining({ code: "deadline_exceeded" })]);
    expect(handled.toSorted()).toEqual([
      [1, false],
      [2, false],
      [3, false],
    ]);
    expect(most).toBeLessThanOrEqual(2);
  });

  it("a pg-boss job that arrives while its worker is stopping runs with an aborted signal", async () => {
    const queue = await engine().open("last");
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
    const fetched = deferred();
    const release = deferred();
    const reasons: unknown[] = [];
    const boss = slow(() => {
      fetched.resolve();
      return release.promise;
    });
    const { stop } = inboxConsume({
      driver: pgBossQueue({ boss, queueName: "last" }),
      store: memoryStore(),
      logger: false,
      handlers: { new_alarm: (_, { signal }) => void reasons.push(signal.reason) },
    });
    await fetched.promise;
    const stopped = stop();
    release.resolve();
    await stopped;
    expect(reasons).toEqual([expect.objectContaining({ code: "worker_stopping" })]);
    expect(await queue.jobs()).toBe(0);
  });
});
