import { expect, it } from "vitest";
import { RetryLater } from "../../src/index.js";
import { pgBossConsume } from "../../src/inbox/pg-boss/index.js";
import type { PgBossConsumer, PgBossJob } from "../../src/inbox/pg-boss/client.js";
import { QueueError } from "../../src/inbox/queue-error.js";
import { deferred } from "../support/deferred.js";
import { describeOnPgBoss } from "../support/inbox/inbox-engines.js";
import { pgBossQueue, startPgBoss } from "../support/inbox/inbox-pg-boss-engine.js";
import {
  alarmDelivery,
  inboxReceiver,
  settlesAt,
  watchWorker,
  watchedLog,
} from "../support/inbox/receiver-and-worker.js";

describeOnPgBoss("pg-boss", (engine) => {
  /** The same client, but `change` sees and replaces the fetched jobs. */
  const changing = (
    change: (jobs: readonly PgBossJob[]) => Promise<readonly PgBossJob[]>,
  ): PgBossConsumer => ({
    fetch: async (name, options) => change(await engine().boss.fetch(name, options)),
    getDb: () => engine().boss.getDb(),
  });

  it("a pg-boss worker logs that its job was cancelled while the handler ran", async () => {
    const queue = await engine().open("cancelled");
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
    const { lines, logger } = watchedLog();
    const { stop } = watchWorker(queue, (_, { id }) => engine().boss.cancel("cancelled", id), {
      logger,
    });
    await settlesAt(
      () => lines,
      [
        [
          expect.stringContaining(
            "a job changed its state before its result was written",
          ) as string,
          { jobId: expect.any(String) as string },
        ],
      ],
    );
    await stop();
    expect(await queue.completed()).toBe(0);
  });

  it("a pg-boss worker that stops gives up a result that it cannot write, and the job runs again", async () => {
    const own = await startPgBoss(engine().url);
    const queue = pgBossQueue(own, "given-up", { expireInMs: 60_000 });
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
    const { lines, logger } = watchedLog();
    const { stop } = watchWorker(
      queue,
      async () => {
        // The wrong order: the worker must be stopped before the PgBoss.
        await own.stop({ graceful: false });
        throw new RetryLater({ afterMs: 1_000 });
      },
      { logger },
    );
    await settlesAt(() => lines.some(([line]) => line.includes("could not be written yet")), true);
    await stop();
    expect(lines.at(-2)).toEqual([
      expect.stringContaining("a result could not be written: the engine runs it again"),
      expect.objectContaining({ err: new QueueError("pg-boss is stopped") }),
    ]);
    expect(await (await engine().open("given-up")).completed()).toBe(0);
  });

  it("a pg-boss job that arrives while its worker is stopping runs with an aborted signal", async () => {
    const queue = await engine().open("last");
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
    const fetched = deferred();
    const release = deferred();
    const reasons: unknown[] = [];
    const stop = pgBossConsume({
      boss: changing(async (jobs) => {
        if (jobs.length > 0) fetched.resolve();
        await release.promise;
        return jobs;
      }),
      queueName: "last",
      logger: false,
      handlers: { new_alarm: (_, { signal }) => reasons.push(signal.reason) },
    });
    await fetched.promise;
    const stopped = stop();
    release.resolve();
    await stopped;
    expect(reasons).toEqual([expect.objectContaining({ code: "worker_stopping" })]);
    expect(await queue.completed()).toBe(1);
  });

  it("a job without a readable expiry has pg-boss's default", async () => {
    const queue = await engine().open("endless");
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
    const { lines, logger } = watchedLog();
    const stop = pgBossConsume({
      boss: changing((jobs) =>
        Promise.resolve(jobs.map((job) => ({ ...job, expireInSeconds: "15 minutes" }))),
      ),
      queueName: "endless",
      logger,
      // Longer than a timer of 0 ms.
      handlers: { new_alarm: () => new Promise((resolve) => setTimeout(resolve, 100)) },
    });
    await settlesAt(() => queue.completed(), 1);
    await stop();
    expect(lines).toEqual([]);
  });
});
