import { expect, it } from "vitest";
import { memoryStore, RetryLater } from "../../src/index.js";
import { inboxConsume } from "../../src/inbox/index.js";
import { pgBossQueue } from "../../src/inbox/pg-boss/index.js";
import { deferred } from "../support/deferred.js";
import { describeOnPgBoss } from "../support/inbox/inbox-engines.js";
import {
  alarmDelivery,
  inboxReceiver,
  settlesAt,
  watchWorker,
} from "../support/inbox/receiver-and-worker.js";

describeOnPgBoss("pg-boss", (engine) => {
  /** Lets the run of the only job expire, as if its worker had been paused. */
  const expire = (name: string) =>
    engine().sql(
      "UPDATE pgboss.job SET started_on = now() - interval '61 s', expire_in = '60 s' WHERE name = $1",
      name,
    );

  it("a job that waits for its next run is deleted when the handler of its expired run succeeds", async () => {
    const queue = await engine().open("overdue", { retryDelayMs: 60_000 });
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
    const release = deferred();
    let runs = 0;
    const { stop } = watchWorker(queue, () => {
      runs += 1;
      return release.promise;
    });
    await settlesAt(() => runs, 1);
    const states = () => engine().sql("SELECT state FROM pgboss.job WHERE name = 'overdue'");
    await settlesAt(async () => {
      // The worker may have extended the job since.
      await expire("overdue");
      return states();
    }, [{ state: "retry" }]);
    release.resolve();
    await settlesAt(states, []);
    await stop();
    expect(runs).toBe(1);
  });

  it.each([
    ["a failure", "late-failure", () => new Error("too late")],
    ["RetryLater", "late-retry", () => new RetryLater({ afterMs: 1_000 })],
  ])("a late result changes nothing for the next run: %s", async (_, name, makeError) => {
    // The second run is the last one: if the late result counted for it, the job would be dead.
    const retries = { retryLimit: 1, retryDelayMs: 1_000 };
    const queue = await engine().open(name, { expireInMs: 60_000, ...retries });
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
    const onItsWay = deferred();
    const release = deferred();
    const arrived = deferred();
    let hasRun = false;
    const { boss } = engine();
    const paused = {
      createQueue: boss.createQueue.bind(boss),
      fetch: boss.fetch.bind(boss),
      getDb: () => ({
        // Simulates a process that is paused before it writes the result. The search for dead jobs passes.
        async executeSql(text: string, values: unknown[]) {
          if (!hasRun) return await boss.getDb().executeSql(text, values);
          onItsWay.resolve();
          await release.promise;
          const result = await boss.getDb().executeSql(text, values);
          arrived.resolve();
          return result;
        },
      }),
    };
    const slow = inboxConsume({
      driver: pgBossQueue({ boss: paused, queueName: name }),
      store: memoryStore(),
      logger: false,
      ...retries,
      handlers: {
        new_alarm: () => {
          hasRun = true;
          return Promise.reject(makeError());
        },
      },
    });
    await onItsWay.promise;
    const slowStopped = slow.stop();
    await expire(name);

    const again = deferred();
    let runs = 0;
    const { stop } = watchWorker(queue, () => {
      runs += 1;
      return again.promise;
    });
    await settlesAt(() => runs, 1);
    release.resolve();
    await arrived.promise;
    await slowStopped;
    expect(await engine().sql("SELECT state FROM pgboss.job WHERE name = $1", name)).toEqual([
      { state: "active" },
    ]);
    again.resolve();
    await settlesAt(() => queue.jobs(), 0);
    await stop();
    expect(await queue.dead()).toEqual([]);
    expect(runs).toBe(1);
  });
});
