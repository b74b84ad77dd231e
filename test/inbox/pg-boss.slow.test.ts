import { describe, expect, it } from "vitest";
import { memoryStore, RetryLater } from "../../src/index.js";
import { inboxConsume } from "../../src/inbox/index.js";
import { pgBossJobId } from "../../src/inbox/job-id.js";
import { pgBossQueue } from "../../src/inbox/pg-boss/index.js";
import { deferred } from "../support/deferred.js";
import { describeOnPgBoss } from "../support/inbox/inbox-engines.js";
import {
  alarmDelivery,
  inboxReceiver,
  settlesAt,
  settlesAtLine,
  watchWorker,
} from "../support/inbox/receiver-and-worker.js";

const UUID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";

describe("pgBossJobId", () => {
  it("the job id in pg-boss is the delivery id if that is a canonical UUID", async () => {
    expect(await pgBossJobId(UUID)).toBe(UUID);
  });

  it("the job id in pg-boss is otherwise a UUID, always the same for one delivery id", async () => {
    expect(await pgBossJobId("123")).toBe("929d8aa5-7604-8fd6-b0e1-c0c1d46c9461");
    expect(await pgBossJobId("123")).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
  });

  it("delivery ids that PostgreSQL treats as one UUID get different job ids", async () => {
    const ids = [UUID, UUID.toUpperCase(), UUID.replaceAll("-", "")];
    expect(new Set(await Promise.all(ids.map(pgBossJobId))).size).toBe(3);
  });
});

describeOnPgBoss("pg-boss", (engine) => {
  it("each pg-boss job stores how it is retried, expires, is kept and is dead-lettered", async () => {
    const enqueue = pgBossQueue({ boss: engine().boss, queueName: "settings" });
    await inboxReceiver(enqueue).receive(await alarmDelivery(1, UUID));
    const columns = `
      retry_limit AS "retryLimit", retry_delay AS "retryDelay", retry_backoff AS "retryBackoff",
      extract(epoch FROM expire_in)::int AS "expireIn", dead_letter AS "deadLetter",
      extract(day FROM keep_until - now())::int AS "keptDays"`;
    expect(await engine().sql(`SELECT ${columns} FROM pgboss.job WHERE id = $1`, UUID)).toEqual([
      {
        retryLimit: 14,
        retryDelay: 10,
        retryBackoff: true,
        expireIn: 60,
        deadLetter: "settings-dead",
        keptDays: 364,
      },
    ]);
  });

  it("a new delivery is one statement, and one that is in the queue already two", async () => {
    const statements: string[] = [];
    const counted = {
      createQueue: engine().boss.createQueue.bind(engine().boss),
      fetch: engine().boss.fetch.bind(engine().boss),
      getDb: () => ({
        executeSql: (text: string, values: unknown[]) => {
          statements.push(text);
          return engine().boss.getDb().executeSql(text, values);
        },
      }),
    };
    const enqueue = pgBossQueue({ boss: counted, queueName: "counted" });
    // The first one also creates the queues.
    await inboxReceiver(enqueue).receive(await alarmDelivery(1));
    statements.length = 0;
    const delivery = await alarmDelivery(1);
    for (const count of [1, 3]) {
      expect((await inboxReceiver(enqueue).receive(delivery)).status).toBe(200);
      expect(statements).toHaveLength(count);
    }
    const jobs = "SELECT id FROM pgboss.job WHERE name = 'counted'";
    expect(await engine().sql(jobs)).toHaveLength(2);
  });

  it("a redelivery whose first job is finished while it is put becomes a job itself", async () => {
    const { boss, sql } = engine();
    let statements = 0;
    const finishing = {
      createQueue: boss.createQueue.bind(boss),
      fetch: boss.fetch.bind(boss),
      getDb: () => ({
        async executeSql(text: string, values: unknown[]) {
          const result = await boss.getDb().executeSql(text, values);
          statements += 1;
          if (statements === 1) await sql("DELETE FROM pgboss.job WHERE name = 'finishing'");
          return result;
        },
      }),
    };
    const enqueue = pgBossQueue({ boss: finishing, queueName: "finishing" });
    const delivery = await alarmDelivery(1);
    await inboxReceiver(enqueue).receive(delivery);
    statements = 0;
    expect((await inboxReceiver(enqueue).receive(delivery)).status).toBe(200);
    expect(await sql("SELECT id FROM pgboss.job WHERE name = 'finishing'")).toHaveLength(1);
  });

  it("a receiver puts its jobs into the schema that it was given", async () => {
    const { default: Boss } = await import("pg-boss");
    const other = new Boss({ connectionString: engine().url, schema: "other", schedule: false });
    await other.start();
    const options = { boss: other, queueName: "own-schema" };
    const delivery = await alarmDelivery(1, UUID);
    expect((await inboxReceiver(pgBossQueue(options)).receive(delivery)).status).toBe(500);
    const receiver = inboxReceiver(pgBossQueue({ ...options, schema: "other" }));
    expect((await receiver.receive(delivery)).status).toBe(200);
    expect(await engine().sql("SELECT id FROM other.job")).toEqual([{ id: UUID }]);
    await other.stop({ graceful: false });
  });

  it("a receiver answers 500 if its queue was deleted, and creates it for the next attempt", async () => {
    const queue = await engine().open("gone");
    const receiver = inboxReceiver(queue.enqueue);
    await receiver.receive(await alarmDelivery(1));
    await engine().sql("DELETE FROM pgboss.job WHERE name = 'gone'");
    await engine().boss.deleteQueue("gone");
    const delivery = await alarmDelivery(2);
    expect((await receiver.receive(delivery)).status).toBe(500);
    expect((await receiver.receive(delivery)).status).toBe(200);
    expect(await queue.jobs()).toBe(1);
  });

  it("a receiver answers 500 if the policy of the queue refuses the job", async () => {
    await engine().boss.createQueue("short", { name: "short", policy: "short" });
    const receiver = inboxReceiver((await engine().open("short")).enqueue);
    expect((await receiver.receive(await alarmDelivery(1))).status).toBe(200);
    expect((await receiver.receive(await alarmDelivery(2))).status).toBe(500);
  });

  it("a job may wait as long for each retry as for its first run, and twice as long as a dead letter", async () => {
    const pendingRetentionMs = 72 * 3_600_000;
    const queue = await engine().open("patience", { retryLimit: 1, pendingRetentionMs });
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
    const { stop } = watchWorker(queue, () =>
      Promise.reject(new RetryLater({ afterMs: 24 * 3_600_000 })),
    );
    const waits = (name: string) =>
      engine().sql(
        `SELECT round(extract(epoch FROM start_after - now()) / 3600)::int AS start,
          round(extract(epoch FROM keep_until - now()) / 3600)::int AS keep
          FROM pgboss.job WHERE name = $1`,
        name,
      );
    await settlesAt(() => waits("patience"), [{ start: 24, keep: 96 }]);
    await engine().sql(
      `UPDATE pgboss.job SET start_after = now(), keep_until = now() + interval '72 h'
        WHERE name = 'patience'`,
    );
    await settlesAt(() => waits("patience-dead"), [{ start: 0, keep: 144 }]);
    await stop();
  });

  it("a job whose database is away when its handler ends is completed when the database is back", async () => {
    const queue = await engine().open("outage", { expireInMs: 60_000 });
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
    const began = deferred();
    const release = deferred();
    let runs = 0;
    const { stop, lines } = watchWorker(queue, async () => {
      runs += 1;
      began.resolve();
      await release.promise;
    });
    await began.promise;
    await engine().server.stop("crash");
    release.resolve();
    await settlesAtLine(lines, "the completion is retried");
    await engine().server.start();
    await settlesAt(() => queue.jobs(), 0);
    await stop();
    expect(runs).toBe(1);
  });

  it("a receiver answers 500 on a PgBoss that is not started, and a worker can be stopped", async () => {
    const { default: Boss } = await import("pg-boss");
    const driver = pgBossQueue({ boss: new Boss(engine().url) });
    const receiver = inboxReceiver(driver);
    expect((await receiver.receive(await alarmDelivery(1))).status).toBe(500);
    const handlers = { new_alarm: () => undefined };
    const { stop } = inboxConsume({ driver, store: memoryStore(), handlers, logger: false });
    await stop();
  });
});
