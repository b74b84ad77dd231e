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
  /** Lets the run of the only job expire, as if its worker had been paused. */
  const expire = (name: string) =>
    engine().sql(
      "UPDATE pgboss.job SET heartbeat_on = now() - interval '61 s' WHERE name = $1",
      name,
    );

  it("a job that waits for its next run is deleted when the handler of its expired run succeeds", async () => {
    const queue = await engine().open("overdue");
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
    const release = deferred();
    let runs = 0;
    const handle = () => {
      runs += 1;
      return release.promise;
    };
    // It asks for no other job meanwhile.
    const { stop } = watchWorker(queue, handle, { concurrency: 1 });
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
});
