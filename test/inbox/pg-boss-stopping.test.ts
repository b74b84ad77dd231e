import type PgBoss from "pg-boss";
import { afterAll, beforeAll, expect, it } from "vitest";
import { RetryLater } from "../../src/index.js";
import { WorkerStoppingError, pgBossConsume } from "../../src/inbox/pg-boss/index.js";
import type { PgBossConsumer, PgBossJob } from "../../src/inbox/pg-boss/client.js";
import { QueueError } from "../../src/inbox/queue-error.js";
import { deferred } from "../support/deferred.js";
import { describeEngine } from "../support/inbox/inbox-engine.js";
import { pgBossQueue, postgresUrl, startPgBoss } from "../support/inbox/inbox-pg-boss-engine.js";
import { alarmDelivery, inboxReceiver, settlesAt } from "../support/inbox/inbox-receiver.js";
import {
  postgresBinaries,
  startPostgres,
  type PostgresServer,
} from "../support/postgres/postgres-server.js";

/** What a worker writes, in order. */
function watchedLog() {
  const lines: [string, unknown][] = [];
  const take = (line: string, details: unknown) => lines.push([line, details]);
  return { lines, logger: { warn: take, error: take } };
}

describeEngine("a worker of pg-boss", postgresBinaries !== undefined, () => {
  let server: PostgresServer;
  let url: string;
  let boss: PgBoss;

  beforeAll(async () => {
    server = await startPostgres();
    url = postgresUrl(server.port);
    boss = await startPgBoss(url);
  });
  afterAll(async () => {
    await boss.stop({ graceful: false });
    await server.close();
  });

  /** The same client, whose jobs pass through `change` on their way from the queue. */
  const changing = (
    change: (jobs: readonly PgBossJob[]) => Promise<readonly PgBossJob[]>,
  ): PgBossConsumer => ({
    fetch: async (name, options) => change(await boss.fetch(name, options)),
    getDb: () => boss.getDb(),
  });

  it("says that a job was taken from it while its handler ran", async () => {
    const queue = pgBossQueue(boss, "cancelled");
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
    const { lines, logger } = watchedLog();
    const stop = queue.consume({
      handlers: { new_alarm: (_, { id }) => boss.cancel("cancelled", id) },
      logger,
    });
    await settlesAt(
      () => lines,
      [
        [
          expect.stringContaining("a job had moved on before its result") as string,
          { jobId: expect.any(String) as string },
        ],
      ],
    );
    await stop();
    expect(await queue.completed()).toBe(0);
  });

  it("gives a result up that pg-boss does not take any more, so that the job runs again", async () => {
    const own = await startPgBoss(url);
    const queue = pgBossQueue(own, "given-up", { expireInMs: 60_000 });
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
    const { lines, logger } = watchedLog();
    const stop = queue.consume({
      handlers: {
        new_alarm: async () => {
          // The wrong way round: the worker is to be stopped before the PgBoss.
          await own.stop({ graceful: false });
          throw new RetryLater({ afterMs: 1_000 });
        },
      },
      logger,
    });
    await settlesAt(() => lines.some(([line]) => line.includes("could not be written yet")), true);
    await stop();
    expect(lines.at(-2)).toEqual([
      expect.stringContaining("a result could not be written: the engine runs it again"),
      expect.objectContaining({ err: new QueueError("pg-boss is stopped") }),
    ]);
    expect(await pgBossQueue(boss, "given-up").completed()).toBe(0);
  });

  it("runs a job that comes when it is already being stopped, with the signal aborted", async () => {
    const queue = pgBossQueue(boss, "last");
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
      queue: "last",
      logger: false,
      handlers: { new_alarm: (_, { signal }) => reasons.push(signal.reason) },
    });
    await fetched.promise;
    const stopped = stop();
    release.resolve();
    await stopped;
    expect(reasons).toEqual([new WorkerStoppingError()]);
    expect(await queue.completed()).toBe(1);
  });

  it("takes pg-boss's own expiry for a job that tells none", async () => {
    const queue = pgBossQueue(boss, "endless");
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
    const { lines, logger } = watchedLog();
    const stop = pgBossConsume({
      boss: changing((jobs) =>
        Promise.resolve(jobs.map((job) => ({ ...job, expireInSeconds: "15 minutes" }))),
      ),
      queue: "endless",
      logger,
      // Longer than a timer of no length.
      handlers: { new_alarm: () => new Promise((resolve) => setTimeout(resolve, 100)) },
    });
    await settlesAt(() => queue.completed(), 1);
    await stop();
    expect(lines).toEqual([]);
  });
});
