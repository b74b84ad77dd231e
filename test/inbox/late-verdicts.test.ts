import type PgBoss from "pg-boss";
import { afterAll, beforeAll, expect, it } from "vitest";
import { RetryLater } from "../../src/index.js";
import { pgBossConsume } from "../../src/inbox/pg-boss/index.js";
import { deferred } from "../support/deferred.js";
import { describeEngine } from "../support/inbox/inbox-engine.js";
import { pgBossQueue, postgresUrl, startPgBoss } from "../support/inbox/inbox-pg-boss-engine.js";
import { alarmDelivery, inboxReceiver, settlesAt } from "../support/inbox/inbox-receiver.js";
import {
  postgresBinaries,
  startPostgres,
  type PostgresServer,
} from "../support/postgres/postgres-server.js";

describeEngine("a verdict of pg-boss's worker", postgresBinaries !== undefined, () => {
  let server: PostgresServer;
  let boss: PgBoss;

  const sql = async (text: string, ...values: unknown[]): Promise<unknown[]> =>
    (await boss.getDb().executeSql(text, values)).rows as unknown[];

  beforeAll(async () => {
    server = await startPostgres();
    boss = await startPgBoss(postgresUrl(server.port));
  });
  afterAll(async () => {
    await boss.stop({ graceful: false });
    await server.close();
  });

  it.each([
    ["a failure", "late-failure", () => new Error("too late")],
    ["RetryLater", "late-retry", () => new RetryLater({ afterMs: 1_000 })],
  ])("does nothing to another run where it comes late: %s", async (_, name, makeError) => {
    // At its limit, the second run would be dead-lettered as well.
    const queue = pgBossQueue(boss, name, {
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
        fetch: (name, options) => boss.fetch(name, options),
        getDb: () => ({
          // As if the process were paused with the result in hand. The worker's look for dead jobs passes.
          async executeSql(text, values) {
            if (!hasRun) return await boss.getDb().executeSql(text, values);
            onItsWay.resolve();
            await release.promise;
            const result = await boss.getDb().executeSql(text, values);
            arrived.resolve();
            return result;
          },
        }),
      },
      queue: name,
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
    // As if the run had expired meanwhile. The next one has a minute.
    await sql("UPDATE pgboss.job SET started_on = now() - interval '61 s' WHERE name = $1", name);

    const again = deferred();
    const runs: boolean[] = [];
    const stop = queue.consume({
      handlers: {
        new_alarm: (_, { takeover }) => {
          runs.push(takeover);
          return again.promise;
        },
      },
    });
    await settlesAt(() => runs, [true]);
    release.resolve();
    await arrived.promise;
    await slowStopped;
    expect(await sql("SELECT state FROM pgboss.job WHERE name = $1", name)).toEqual([
      { state: "active" },
    ]);
    again.resolve();
    await settlesAt(() => queue.completed(), 1);
    await stop();
    expect(await queue.dead()).toEqual([]);
    expect(runs).toEqual([true]);
  });

  it("makes failed jobs wait as pg-boss's own would, twice as long each time", async () => {
    const queue = pgBossQueue(boss, "delays", { retryDelayMs: 60_000, retryLimit: 20 });
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
    const stop = queue.consume({
      handlers: { new_alarm: () => Promise.reject(new Error("no")) },
    });
    const waiting = `
      SELECT retry_count AS runs, extract(epoch FROM start_after - now())::float8 AS seconds
      FROM pgboss.job WHERE name = 'delays' AND state = 'retry' AND start_after > now()`;
    for (const [runs, power] of [
      [0, 0],
      [1, 1],
      [4, 4],
      [19, 15],
    ] as const) {
      // As if the job had been run so often; the fetch counts one up.
      if (runs > 0) {
        await sql(
          "UPDATE pgboss.job SET retry_count = $1, start_after = now() WHERE name = 'delays'",
          runs - 1,
        );
      }
      await settlesAt(async () => (await sql(waiting)).length, 1);
      const [job] = (await sql(waiting)) as { runs: number; seconds: number }[];
      expect(job?.runs).toBe(runs);
      const times = (job?.seconds ?? 0) / (60 * 2 ** power);
      expect(times).toBeGreaterThan(0.9);
      expect(times).toBeLessThanOrEqual(2);
    }
    await stop();
  });
});
