import { Queue, Worker } from "bullmq";
import type PgBoss from "pg-boss";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { bullmqConsume, bullmqEnqueue } from "../../src/inbox/bullmq/index.js";
import { pgBossConsume, pgBossEnqueue } from "../../src/inbox/pg-boss/index.js";
import { describeEngine } from "../support/inbox/inbox-engine.js";
import { postgresUrl, startPgBoss } from "../support/inbox/inbox-pg-boss-engine.js";
import { alarmDelivery, inboxReceiver, settlesAt } from "../support/inbox/inbox-receiver.js";
import { startBlackHoleProxy, type BlackHoleProxy } from "../support/black-hole-proxy.js";
import {
  postgresBinaries,
  startPostgres,
  type PostgresServer,
} from "../support/postgres/postgres-server.js";
import {
  hasRedisServer,
  startRedisServer,
  type RedisServer,
} from "../support/redis/redis-server.js";

describeEngine("pg-boss, whose network swallows", postgresBinaries !== undefined, () => {
  let server: PostgresServer;
  let proxy: BlackHoleProxy;
  let boss: PgBoss;

  beforeAll(async () => {
    server = await startPostgres();
  });
  beforeEach(async () => {
    proxy = await startBlackHoleProxy(server.port);
    boss = await startPgBoss(postgresUrl(proxy.port));
  });
  afterEach(async () => {
    void boss.stop({ graceful: false });
    await proxy.close();
  });
  afterAll(() => server.close());

  it("takes deliveries again although the making of its queues was swallowed", async () => {
    const receiver = inboxReceiver(pgBossEnqueue({ boss, queue: "made" }), 500);
    const delivery = await alarmDelivery(1);
    proxy.swallow();
    expect((await receiver.receive(delivery)).status).toBe(500);
    await settlesAt(async () => (await receiver.receive(delivery)).status, 200);
  });

  it("works on although a fetch was swallowed, and can be stopped", async () => {
    const direct = await startPgBoss(postgresUrl(server.port));
    const receiver = inboxReceiver(pgBossEnqueue({ boss: direct, queue: "fetched" }));
    const handled: number[] = [];
    let swallowing = false;
    const stop = pgBossConsume({
      boss: {
        fetch: (name, options) => {
          const jobs = boss.fetch(name, options);
          // While it is under way.
          if (!swallowing) proxy.swallow();
          swallowing = true;
          return jobs;
        },
        getDb: () => boss.getDb(),
      },
      queue: "fetched",
      pollIntervalMs: 100,
      logger: false,
      handlers: { new_alarm: (alarm) => handled.push(alarm.account_id) },
    });
    await receiver.receive(await alarmDelivery(1));
    await settlesAt(() => handled, [1]);

    swallowing = false;
    await settlesAt(() => swallowing, true);
    await stop();
    await direct.stop({ graceful: false });
  });
});

describeEngine("BullMQ, whose network swallows", hasRedisServer, () => {
  let server: RedisServer;
  let proxy: BlackHoleProxy;

  beforeAll(async () => {
    server = await startRedisServer();
    proxy = await startBlackHoleProxy(server.port);
  });
  afterAll(async () => {
    await proxy.close();
    await server.close();
  });

  it("goes on with a socketTimeout", async () => {
    const connection = { host: "127.0.0.1", port: proxy.port, socketTimeout: 3_000 };
    const queue = new Queue("timeouts", { connection });
    queue.on("error", () => undefined);
    const receiver = inboxReceiver(bullmqEnqueue({ queue }), 1_000);
    const handled: number[] = [];
    const stop = bullmqConsume({
      Worker,
      queue: "timeouts",
      workerOptions: { connection, drainDelay: 1 },
      logger: false,
      handlers: { new_alarm: (alarm) => handled.push(alarm.account_id) },
    });
    await receiver.receive(await alarmDelivery(1));
    await settlesAt(() => handled, [1]);

    proxy.swallow();
    const delivery = await alarmDelivery(2);
    expect((await receiver.receive(delivery)).status).toBe(500);
    await settlesAt(async () => (await receiver.receive(delivery)).status, 200);
    await settlesAt(() => handled, [1, 2]);
    await stop();
    await queue.close();
  });
});
