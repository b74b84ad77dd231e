import { setTimeout as wait } from "node:timers/promises";
import type PgBoss from "pg-boss";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RetryLater } from "../../src/index.js";
import { pgBossConsume, pgBossEnqueue } from "../../src/inbox/pg-boss/index.js";
import { pgBossJobId } from "../../src/inbox/pg-boss/job-id.js";
import { deferred } from "../support/deferred.js";
import { describeEngine } from "../support/inbox/inbox-engine.js";
import { pgBossQueue, postgresUrl, startPgBoss } from "../support/inbox/inbox-pg-boss-engine.js";
import { alarmDelivery, inboxReceiver, settlesAt } from "../support/inbox/inbox-receiver.js";
import {
  postgresBinaries,
  startPostgres,
  type PostgresServer,
} from "../support/postgres/postgres-server.js";
const UUID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";

describe("the job id of a delivery", () => {
  it("is the delivery's own where that is a canonical UUID", async () => {
    expect(await pgBossJobId(UUID)).toBe(UUID);
  });

  it("is otherwise a UUID that is always the same for that id", async () => {
    expect(await pgBossJobId("123")).toBe("929d8aa5-7604-8fd6-b0e1-c0c1d46c9461");
    expect(await pgBossJobId("123")).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
  });

  it("tells apart ids that PostgreSQL would take for one UUID", async () => {
    const ids = [UUID, UUID.toUpperCase(), UUID.replaceAll("-", "")];
    expect(new Set(await Promise.all(ids.map(pgBossJobId))).size).toBe(3);
  });
});

describeEngine("pg-boss's own ways", postgresBinaries !== undefined, () => {
  let server: PostgresServer;
  let url: string;
  let boss: PgBoss;

  const sql = async (text: string, ...values: unknown[]): Promise<unknown[]> =>
    (await boss.getDb().executeSql(text, values)).rows as unknown[];

  beforeAll(async () => {
    server = await startPostgres();
    url = postgresUrl(server.port);
    boss = await startPgBoss(url);
  });
  afterAll(async () => {
    await boss.stop({ graceful: false });
    await server.close();
  });

  it("writes into each job how it is tried, expires, is kept and is dead-lettered", async () => {
    const enqueue = pgBossEnqueue({ boss, queue: "settings" });
    await inboxReceiver(enqueue).receive(await alarmDelivery(1, UUID));
    const columns = `
      retry_limit AS "retryLimit", retry_delay AS "retryDelay", retry_backoff AS "retryBackoff",
      extract(epoch FROM expire_in)::int AS "expireIn", dead_letter AS "deadLetter",
      extract(day FROM keep_until - now())::int AS "keptDays"`;
    expect(await sql(`SELECT ${columns} FROM pgboss.job WHERE id = $1`, UUID)).toEqual([
      {
        retryLimit: 14,
        retryDelay: 10,
        retryBackoff: true,
        expireIn: 900,
        deadLetter: "settings-dead",
        keptDays: 364,
      },
    ]);
  });

  it("makes no second job of a delivery that is archived, but one that pg-boss has deleted", async () => {
    const queue = pgBossQueue(boss, "archived");
    const delivery = await alarmDelivery(1);
    await inboxReceiver(queue.enqueue).receive(delivery);
    const stop = queue.consume({ handlers: { new_alarm: () => undefined } });
    await settlesAt(() => queue.completed(), 1);
    await stop();
    // As after 13 hours; the default is to archive after 12.
    await sql(
      "UPDATE pgboss.job SET completed_on = now() - interval '13 h' WHERE name = 'archived'",
    );
    await settlesAt(() => queue.jobs(), 0);
    await inboxReceiver(queue.enqueue).receive(delivery);
    expect(await queue.jobs()).toBe(0);

    await sql("DELETE FROM pgboss.archive WHERE name = 'archived'");
    await inboxReceiver(queue.enqueue).receive(delivery);
    expect(await queue.jobs()).toBe(1);
  });

  it("acknowledges nothing into a queue that is gone, and makes it for the next attempt", async () => {
    const queue = pgBossQueue(boss, "gone");
    const receiver = inboxReceiver(queue.enqueue);
    await receiver.receive(await alarmDelivery(1));
    await sql("DELETE FROM pgboss.job WHERE name = 'gone'");
    await boss.deleteQueue("gone");
    const delivery = await alarmDelivery(2);
    expect((await receiver.receive(delivery)).status).toBe(500);
    expect((await receiver.receive(delivery)).status).toBe(200);
    expect(await queue.jobs()).toBe(1);
  });

  it("acknowledges nothing that the policy of the queue refuses", async () => {
    await boss.createQueue("short", { name: "short", policy: "short" });
    const receiver = inboxReceiver(pgBossQueue(boss, "short").enqueue);
    expect((await receiver.receive(await alarmDelivery(1))).status).toBe(200);
    expect((await receiver.receive(await alarmDelivery(2))).status).toBe(500);
  });

  it("aborts the signal of a job that expires, gives its place to others and runs it again", async () => {
    const queue = pgBossQueue(boss, "expires", { expireInMs: 5_000, retryDelayMs: 1_000 });
    const receiver = inboxReceiver(queue.enqueue);
    await receiver.receive(await alarmDelivery(1));
    const first = deferred();
    const again = deferred();
    const reasons: unknown[] = [];
    const runs: [number, boolean][] = [];
    const stop = queue.consume({
      concurrency: 1,
      handlers: {
        new_alarm: async (alarm, { signal, takeover }) => {
          runs.push([alarm.account_id, takeover]);
          if (alarm.account_id !== 1) return;
          if (takeover) return again.promise;
          signal.addEventListener("abort", () => reasons.push(signal.reason));
          await first.promise;
          throw new Error("too late");
        },
      },
    });
    await settlesAt(() => runs.length, 1);
    await receiver.receive(await alarmDelivery(2));
    await settlesAt(() => runs.length, 3);
    // The late failure is of a run that nobody waits for; the one under way must not suffer by it.
    first.resolve();
    await wait(200);
    expect(await sql("SELECT state FROM pgboss.job WHERE name = 'expires' ORDER BY state")).toEqual(
      [{ state: "active" }, { state: "completed" }],
    );
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

  it("completes an expired job whose handler succeeds after all", async () => {
    const queue = pgBossQueue(boss, "late", { expireInMs: 1_000 });
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
    let runs = 0;
    const stop = queue.consume({
      handlers: {
        new_alarm: async (_, { signal }) => {
          runs += 1;
          await new Promise((resolve) => {
            signal.addEventListener("abort", resolve);
          });
        },
      },
    });
    await settlesAt(() => queue.completed(), 1);
    await stop();
    expect(runs).toBe(1);
  });

  it("completes a job that waits for its next run, when the handler of an expired one succeeds", async () => {
    const queue = pgBossQueue(boss, "overdue", { expireInMs: 60_000, retryDelayMs: 60_000 });
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
    const release = deferred();
    let runs = 0;
    const stop = queue.consume({
      handlers: {
        new_alarm: () => {
          runs += 1;
          return release.promise;
        },
      },
    });
    await settlesAt(() => runs, 1);
    await sql("UPDATE pgboss.job SET started_on = now() - interval '61 s' WHERE name = 'overdue'");
    const states = () => sql("SELECT state FROM pgboss.job WHERE name = 'overdue'");
    await settlesAt(states, [{ state: "retry" }]);
    release.resolve();
    await settlesAt(states, [{ state: "completed" }]);
    await stop();
    expect(runs).toBe(1);
  });

  it("keeps a job waiting for each try as long as for the first, and as a dead letter twice that", async () => {
    const pendingRetentionMs = 72 * 3_600_000;
    const queue = pgBossQueue(boss, "patience", { retryLimit: 1, pendingRetentionMs });
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
    const stop = queue.consume({
      handlers: { new_alarm: () => Promise.reject(new RetryLater({ afterMs: 24 * 3_600_000 })) },
    });
    const waits = (name: string) =>
      sql(
        `SELECT round(extract(epoch FROM start_after - now()) / 3600)::int AS start,
          round(extract(epoch FROM keep_until - now()) / 3600)::int AS keep
          FROM pgboss.job WHERE name = $1`,
        name,
      );
    await settlesAt(() => waits("patience"), [{ start: 24, keep: 96 }]);
    await sql(
      `UPDATE pgboss.job SET start_after = now(), keep_until = now() + interval '72 h'
        WHERE name = 'patience'`,
    );
    await settlesAt(() => waits("patience-dead"), [{ start: 0, keep: 144 }]);
    await stop();
  });

  it("writes a verdict that the database refused once that is back", async () => {
    const queue = pgBossQueue(boss, "outage", { expireInMs: 60_000 });
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
    const began = deferred();
    const release = deferred();
    const lines: string[] = [];
    let runs = 0;
    const stop = queue.consume({
      handlers: {
        new_alarm: async () => {
          runs += 1;
          began.resolve();
          await release.promise;
        },
      },
      logger: { warn: (line) => lines.push(line), error: (line) => lines.push(line) },
    });
    await began.promise;
    await server.stop("crash");
    release.resolve();
    await settlesAt(() => lines.some((line) => line.includes("could not be written yet")), true);
    await server.start();
    await settlesAt(() => queue.completed(), 1);
    await stop();
    expect(runs).toBe(1);
  });

  it("does nothing on a PgBoss that is not started, and says so", async () => {
    const { default: Boss } = await import("pg-boss");
    const idle = new Boss(url);
    const receiver = inboxReceiver(pgBossEnqueue({ boss: idle }));
    expect((await receiver.receive(await alarmDelivery(1))).status).toBe(500);
    const stop = pgBossConsume({
      boss: idle,
      handlers: { new_alarm: () => undefined },
      logger: false,
    });
    await stop();
  });
});
