import { expect, it } from "vitest";
import { RetryLater } from "../../src/index.js";
import { pgBossConsume } from "../../src/inbox/pg-boss/index.js";
import { deferred } from "../support/deferred.js";
import { describeOnPgBoss } from "../support/inbox/inbox-engines.js";
import {
  alarmDelivery,
  inboxReceiver,
  settlesAt,
  watchWorker,
} from "../support/inbox/receiver-and-worker.js";

describeOnPgBoss("pg-boss", (engine) => {
  it.each([
    ["a failure", "late-failure", () => new Error("too late")],
    ["RetryLater", "late-retry", () => new RetryLater({ afterMs: 1_000 })],
  ])("a late result changes nothing for the next run: %s", async (_, name, makeError) => {
    // The second run is the last one: if the late result counted for it, the job would be dead.
    const queue = await engine().open(name, {
      expireInMs: 60_000,
      retryLimit: 1,
      retryDelayMs: 1_000,
    });
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
    const onItsWay = deferred();
    const release = deferred();
    const arrived = deferred();
    let hasRun = false;
    const stopSlow = pgBossConsume({
      boss: {
        fetch: (name, options) => engine().boss.fetch(name, options),
        getDb: () => ({
          // Simulates a process that is paused before it writes the result. The search for dead jobs passes.
          async executeSql(text, values) {
            if (!hasRun) return await engine().boss.getDb().executeSql(text, values);
            onItsWay.resolve();
            await release.promise;
            const result = await engine().boss.getDb().executeSql(text, values);
            arrived.resolve();
            return result;
          },
        }),
      },
      queueName: name,
      logger: false,
      handlers: {
        new_alarm: () => {
          hasRun = true;
          return Promise.reject(makeError());
        },
      },
    });
    await onItsWay.promise;
    const slowStopped = stopSlow();
    // Lets the run expire. The next run has a minute.
    await engine().sql(
      "UPDATE pgboss.job SET started_on = now() - interval '61 s' WHERE name = $1",
      name,
    );

    const again = deferred();
    const runs: boolean[] = [];
    const { stop } = watchWorker(queue, (_, { takeover }) => {
      runs.push(takeover);
      return again.promise;
    });
    await settlesAt(() => runs, [true]);
    release.resolve();
    await arrived.promise;
    await slowStopped;
    expect(await engine().sql("SELECT state FROM pgboss.job WHERE name = $1", name)).toEqual([
      { state: "active" },
    ]);
    again.resolve();
    await settlesAt(() => queue.completed(), 1);
    await stop();
    expect(await queue.dead()).toEqual([]);
    expect(runs).toEqual([true]);
  });

  it("failed jobs wait as long as with pg-boss's own fail, twice as long each time", async () => {
    const queue = await engine().open("delays", { retryDelayMs: 60_000, retryLimit: 20 });
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
    const { stop } = watchWorker(queue, () => Promise.reject(new Error("no")));
    const waiting = `
      SELECT retry_count AS runs, extract(epoch FROM start_after - now())::float8 AS seconds
      FROM pgboss.job WHERE name = 'delays' AND state = 'retry' AND start_after > now()`;
    for (const [runs, power] of [
      [0, 0],
      [1, 1],
      [4, 4],
      [19, 15],
    ] as const) {
      // Simulates earlier runs. The fetch adds one.
      if (runs > 0) {
        await engine().sql(
          "UPDATE pgboss.job SET retry_count = $1, start_after = now() WHERE name = 'delays'",
          runs - 1,
        );
      }
      await settlesAt(async () => (await engine().sql(waiting)).length, 1);
      const [job] = (await engine().sql(waiting)) as { runs: number; seconds: number }[];
      expect(job?.runs).toBe(runs);
      const times = (job?.seconds ?? 0) / (60 * 2 ** power);
      expect(times).toBeGreaterThan(0.9);
      expect(times).toBeLessThanOrEqual(2);
    }
    await stop();
  });
});
