import { randomUUID } from "node:crypto";
import { PgBoss } from "pg-boss";
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
  settlesAtLine,
  watchWorker,
} from "../support/inbox/receiver-and-worker.js";

const UUID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";

describeOnPgBoss("pg-boss", (engine) => {
  it("each pg-boss job is held, kept and retried as the driver says, also in a queue that was there", async () => {
    await engine().boss.createQueue("settings", { retryLimit: 1, heartbeatSeconds: 10 });
    const driver = pgBossQueue({ boss: engine().boss, queueName: "settings" });
    await inboxReceiver(driver).receive(await alarmDelivery(1, UUID));
    const [job] = await engine().boss.findJobs("settings", { key: UUID });
    expect(job).toMatchObject({
      retryLimit: 2_000_000,
      retryDelay: 10,
      retryBackoff: false,
      heartbeatSeconds: 60,
      expireInSeconds: 86_400,
    });
    const keptMs = Number(job?.keepUntil) - Date.now();
    expect(Math.round(keptMs / 86_400_000)).toBe(365);
  });

  it("a delivery whose job an operator has cancelled is put again", async () => {
    const queue = await engine().open("cancelled");
    const delivery = await alarmDelivery(1, UUID);
    await inboxReceiver(queue.enqueue).receive(delivery);
    const [job] = await engine().boss.findJobs("cancelled");
    await engine().boss.cancel("cancelled", job?.id ?? "");
    await inboxReceiver(queue.enqueue).receive(delivery);
    const handled: string[] = [];
    const { stop } = watchWorker(queue, (_, { id }) => handled.push(id));
    await settlesAt(() => handled, [UUID]);
    await stop();
  });

  it("a delivery that was put twice and died twice is replayed once, by one call", async () => {
    const queue = await engine().open("twice", { retryLimit: 0 });
    const delivery = await alarmDelivery(1, randomUUID());
    const id = delivery.headers["X-Webhook-Id"];
    for (let n = 0; n < 2; n += 1) await inboxReceiver(queue.enqueue).receive(delivery);
    const failing = watchWorker(queue, () => Promise.reject(new Error("x")));
    await settlesAt(async () => (await queue.dead()).length, 2);
    await failing.stop();
    expect(await queue.deadDeliveries.replay([id])).toEqual({ replayed: [id], notFound: [] });
    expect(await queue.deadDeliveries.list()).toEqual([]);
    let runs = 0;
    const { stop } = watchWorker(queue, () => (runs += 1));
    await settlesAt(() => queue.jobs(), 0);
    await stop();
    expect(runs).toBe(1);
  });

  it("what another program put into the queue of the dead jobs hides no other one", async () => {
    const queue = await engine().open("strange-letter", { retryLimit: 0 });
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
    await queue.deadDeliveries.list();
    const strange = await engine().boss.send("strange-letter-dead", {});
    await engine().boss.fail("strange-letter-dead", strange ?? "", { attempts: "1; DROP TABLE" });
    const { reports, stop } = watchWorker(queue, () => Promise.reject(new Error("fails")));
    await settlesAt(() => reports.map(({ outcome }) => outcome), ["dead"]);
    await stop();
    const listed = await queue.deadDeliveries.list();
    expect(listed.map(({ attempts }) => attempts)).toEqual([0, 1]);
    expect(listed[0]?.id).toBe(strange);
    const { replayed } = await queue.deadDeliveries.replay("all");
    expect(replayed).toEqual(listed.map(({ id }) => id));
  });

  it("a PgBoss of another schema works as it is", async () => {
    const other = new PgBoss({ connectionString: engine().url, schema: "other", schedule: false });
    other.on("error", () => undefined);
    await other.start();
    const receiver = inboxReceiver(pgBossQueue({ boss: other, queueName: "own-schema" }));
    expect((await receiver.receive(await alarmDelivery(1))).status).toBe(200);
    expect(await engine().sql("SELECT id FROM other.job")).toHaveLength(1);
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
    await engine().boss.createQueue("short", { policy: "short" });
    const { enqueue } = await engine().open("short");
    const delivery = await alarmDelivery(1);
    expect((await inboxReceiver(enqueue).receive(delivery)).status).toBe(200);
    expect((await inboxReceiver(enqueue).receive(delivery)).status).toBe(500);
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
      ) as Promise<{ start: number; keep: number }[]>;
    await settlesAt(() => waits("patience"), [{ start: 24, keep: 96 }]);
    await engine().sql(
      `UPDATE pgboss.job SET start_after = now(), keep_until = now() + interval '72 h'
        WHERE name = 'patience'`,
    );
    const dead = async () => (await waits("patience-dead")).map(({ keep }) => keep);
    await settlesAt(dead, [144]);
    await stop();
  });

  it("a job whose database is away when its handler ends is completed when the database is back", async () => {
    const queue = await engine().open("outage");
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
    const driver = pgBossQueue({ boss: new PgBoss(engine().url) });
    const receiver = inboxReceiver(driver);
    expect((await receiver.receive(await alarmDelivery(1))).status).toBe(500);
    const handlers = { new_alarm: () => undefined };
    const { stop } = inboxConsume({ driver, store: memoryStore(), handlers, logger: false });
    await stop();
  });
});
