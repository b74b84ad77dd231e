import { setTimeout as wait } from "node:timers/promises";
import { expect, it } from "vitest";
import { deferred } from "../support/deferred.js";
import { describeOnPgBoss } from "../support/inbox/inbox-engines.js";
import {
  alarmDelivery,
  inboxReceiver,
  settlesAt,
  watchWorker,
} from "../support/inbox/receiver-and-worker.js";

describeOnPgBoss("pg-boss", (engine) => {
  it("a job that expires gets an aborted signal, frees its slot and runs again", async () => {
    const queue = await engine().open("expires", { expireInMs: 5_000, retryDelayMs: 1_000 });
    const receiver = inboxReceiver(queue.enqueue);
    await receiver.receive(await alarmDelivery(1));
    const first = deferred();
    const again = deferred();
    const reasons: unknown[] = [];
    const runs: [number, boolean][] = [];
    const { stop } = watchWorker(
      queue,
      async (alarm, { signal, takeover }) => {
        runs.push([alarm.account_id, takeover]);
        if (alarm.account_id !== 1) return;
        if (takeover) return again.promise;
        signal.addEventListener("abort", () => reasons.push(signal.reason));
        await first.promise;
        throw new Error("too late");
      },
      { concurrency: 1 },
    );
    await settlesAt(() => runs.length, 1);
    await receiver.receive(await alarmDelivery(2));
    await settlesAt(() => runs.length, 3);
    // The late failure belongs to the expired run. It must not change the current one.
    first.resolve();
    await wait(200);
    expect(
      await engine().sql("SELECT state FROM pgboss.job WHERE name = 'expires' ORDER BY state"),
    ).toEqual([{ state: "active" }, { state: "completed" }]);
    again.resolve();
    await settlesAt(() => queue.completed(), 2);
    await stop();
    expect(reasons).toEqual([expect.objectContaining({ name: "DeadlineError" })]);
    expect(runs.toSorted()).toEqual([
      [1, false],
      [1, true],
      [2, false],
    ]);
  });

  it("an expired job whose handler still succeeds is completed", async () => {
    const queue = await engine().open("late", { expireInMs: 1_000 });
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
    let runs = 0;
    const { stop } = watchWorker(queue, async (_, { signal }) => {
      runs += 1;
      await new Promise((resolve) => {
        signal.addEventListener("abort", resolve);
      });
    });
    await settlesAt(() => queue.completed(), 1);
    await stop();
    expect(runs).toBe(1);
  });

  it("a job that waits for its next run is completed when the handler of its expired run succeeds", async () => {
    const queue = await engine().open("overdue", { expireInMs: 60_000, retryDelayMs: 60_000 });
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
    const release = deferred();
    let runs = 0;
    const { stop } = watchWorker(queue, () => {
      runs += 1;
      return release.promise;
    });
    await settlesAt(() => runs, 1);
    await engine().sql(
      "UPDATE pgboss.job SET started_on = now() - interval '61 s' WHERE name = 'overdue'",
    );
    const states = () => engine().sql("SELECT state FROM pgboss.job WHERE name = 'overdue'");
    await settlesAt(states, [{ state: "retry" }]);
    release.resolve();
    await settlesAt(states, [{ state: "completed" }]);
    await stop();
    expect(runs).toBe(1);
  });
});
