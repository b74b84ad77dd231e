import { Queue, Worker } from "bullmq";
import type { PgBoss } from "pg-boss";
import { afterEach, beforeEach, expect, it } from "vitest";
import { memoryStore } from "../../src/index.js";
import { inboxConsume } from "../../src/inbox/index.js";
import { bullmqQueue } from "../../src/inbox/bullmq/index.js";
import { pgBossQueue } from "../../src/inbox/pg-boss/index.js";
import { describeOnBullmq, describeOnPgBoss } from "../support/inbox/inbox-engines.js";
import { overriding, postgresUrl, startPgBoss } from "../support/inbox/inbox-pg-boss-engine.js";
import { alarmDelivery, inboxReceiver, settlesAt } from "../support/inbox/receiver-and-worker.js";
import { startedForAll } from "../support/started-for-all.js";
import { startBlackHoleProxy, type BlackHoleProxy } from "../support/black-hole-proxy.js";

describeOnPgBoss("pg-boss on dead connections", (engine) => {
  let proxy: BlackHoleProxy;
  let boss: PgBoss;

  beforeEach(async () => {
    proxy = await startBlackHoleProxy(engine().server.port);
    boss = await startPgBoss(postgresUrl(proxy.port));
  });
  afterEach(async () => {
    void boss.stop({ graceful: false });
    await proxy.close();
  });

  it("a receiver takes deliveries again after the creation of its queues got no answer", async () => {
    const receiver = inboxReceiver(pgBossQueue({ boss, queueName: "made" }), 500);
    const delivery = await alarmDelivery(1);
    proxy.swallow();
    expect((await receiver.receive(delivery)).status).toBe(500);
    await settlesAt(async () => (await receiver.receive(delivery)).status, 200);
  });

  it("a pg-boss worker goes on after a fetch got no answer, and can be stopped", async () => {
    const receiver = inboxReceiver(pgBossQueue({ boss: engine().boss, queueName: "fetched" }));
    const handled: number[] = [];
    let swallowing = false;
    const driver = pgBossQueue({
      boss: overriding(boss, {
        fetch: (name, options) => {
          const jobs = boss.fetch(name, options);
          // The query is on its way now, and gets no answer.
          if (!swallowing) proxy.swallow();
          swallowing = true;
          return jobs;
        },
      }),
      queueName: "fetched",
      pollIntervalMs: 100,
    });
    const { stop } = inboxConsume({
      driver,
      store: memoryStore(),
      logger: false,
      handlers: { new_alarm: (alarm) => void handled.push(alarm.account_id) },
    });
    await receiver.receive(await alarmDelivery(1));
    await settlesAt(() => handled, [1]);

    swallowing = false;
    await settlesAt(() => swallowing, true);
    await stop();
  });
});

describeOnBullmq("BullMQ on dead connections", (engine) => {
  const proxy = startedForAll(() => startBlackHoleProxy(engine().server.port));

  it("receiver and worker of BullMQ go on after a dead connection with a socketTimeout", async () => {
    const connection = { host: "127.0.0.1", port: proxy().port, socketTimeout: 3_000 };
    const queue = new Queue("timeouts", { connection });
    queue.on("error", () => undefined);
    const driver = bullmqQueue({ queue, Worker, workerOptions: { connection, drainDelay: 1 } });
    const receiver = inboxReceiver(driver, 1_000);
    const handled: number[] = [];
    const { stop } = inboxConsume({
      driver,
      store: memoryStore(),
      logger: false,
      handlers: { new_alarm: (alarm) => handled.push(alarm.account_id) },
    });
    await receiver.receive(await alarmDelivery(1));
    await settlesAt(() => handled, [1]);

    proxy().swallow();
    const delivery = await alarmDelivery(2);
    expect((await receiver.receive(delivery)).status).toBe(500);
    await settlesAt(async () => (await receiver.receive(delivery)).status, 200);
    await settlesAt(() => handled, [1, 2]);
    await stop();
    await queue.close();
  });
});
