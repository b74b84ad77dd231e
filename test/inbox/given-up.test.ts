// Jobs that the engine gives up without a handler's failure: no worker has seen it, and one has to report it.
import { Queue, Worker, type WorkerOptions } from "bullmq";
import { Redis } from "ioredis";
import type PgBoss from "pg-boss";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { DeadJobError, type JobReport } from "../../src/inbox/index.js";
import { bullmqConsume, bullmqEnqueue } from "../../src/inbox/bullmq/index.js";
import { deferred } from "../support/deferred.js";
import { startInboxChild } from "../support/inbox/inbox-child.js";
import { describeEngine } from "../support/inbox/inbox-engine.js";
import { pgBossQueue, postgresUrl, startPgBoss } from "../support/inbox/inbox-pg-boss-engine.js";
import { alarmDelivery, inboxReceiver, settlesAt } from "../support/inbox/inbox-receiver.js";
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

const UUID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";

describeEngine("pg-boss gives a job up", postgresBinaries !== undefined, () => {
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

  it("reports a job that expires at its last attempt as dead, by one worker of several", async () => {
    const queue = pgBossQueue(boss, "expires-for-good", { expireInMs: 1_000, retryLimit: 0 });
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1, UUID));
    const release = deferred();
    const reports: JobReport[] = [];
    const lines: string[] = [];
    const take = (line: string) => lines.push(line);
    const options = {
      handlers: { new_alarm: () => release.promise },
      onJob: (report: JobReport) => reports.push(report),
      logger: { warn: take, error: take },
    };
    const stops = [queue.consume(options), queue.consume(options)];
    await settlesAt(() => reports.length, 1);
    expect(reports).toEqual([
      {
        ...{ outcome: "dead", attempt: 1, lastAttempt: true, id: UUID, type: "new_alarm" },
        ...{ durationMs: 0, waitedMs: 0, takeover: true },
        error: new DeadJobError("job failed by timeout in active state"),
      },
    ]);
    expect(reports[0]?.error).toMatchObject({ code: "dead_job" });
    expect(lines[0]).toContain("it was the last attempt, and the engine dead-letters the job");
    expect(lines[1]).toContain("dead: The engine gave the job up");

    // Two more looks of both.
    const looks = "SELECT 1 FROM pgboss.job WHERE name = $1 AND output->'reported' IS NOT NULL";
    await settlesAt(async () => (await sql(looks, "expires-for-good-dead")).length, 1);
    expect(await queue.deadDeliveries.list()).toHaveLength(1);
    // The handler succeeds after all: nothing is dead any more, and nothing of the body is left.
    release.resolve();
    await settlesAt(() => queue.completed(), 1);
    await settlesAt(() => reports.length, 2);
    await Promise.all(stops.map((stop) => stop()));
    expect(reports[1]).toMatchObject({ outcome: "handled", id: UUID });
    expect(await queue.deadDeliveries.list()).toEqual([]);
    expect(await queue.dead()).toEqual([]);
  });

  it("reports a dead job whose own worker crashed before it could, and any that others failed", async () => {
    const queue = pgBossQueue(boss, "unreported", { retryLimit: 0 });
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1, UUID));
    // As another worker, or a person, does.
    await boss.fetch("unreported");
    await boss.fail("unreported", UUID, { message: "given up by hand: 19900101-1234" });
    await boss.send("unreported-dead", { some: "thing" });
    // A worker that took the report on and crashed a minute ago.
    await sql(
      `UPDATE pgboss.job SET output = output || jsonb_build_object('reportAfter', extract(epoch FROM now()) - 1)
        WHERE name = 'unreported-dead' AND output IS NOT NULL`,
    );
    const reports: JobReport[] = [];
    const options = {
      handlers: { new_alarm: () => undefined },
      onJob: (report: JobReport) => reports.push(report),
    };
    const stops = [queue.consume(options), queue.consume(options)];
    await settlesAt(() => reports.length, 2);
    await Promise.all(stops.map((stop) => stop()));
    expect(reports.map(({ id, error }) => (id === UUID ? (error as Error).message : ""))).toContain(
      "given up by hand",
    );
    const stopLast = queue.consume(options);
    await stopLast();
    expect(reports).toHaveLength(2);
  });

  it("says that it cannot look for dead jobs while the database refuses", async () => {
    const queue = pgBossQueue(boss, "unseen");
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
    await sql("ALTER TABLE pgboss.queue RENAME COLUMN dead_letter TO moved");
    const lines: string[] = [];
    const take = (line: string) => lines.push(line);
    const stop = queue.consume({
      handlers: { new_alarm: () => undefined },
      logger: { warn: take, error: take },
    });
    await settlesAt(() => lines.some((line) => line.includes("could not be looked at")), true);
    await sql("ALTER TABLE pgboss.queue RENAME COLUMN moved TO dead_letter");
    await stop();
    await sql("ALTER TABLE pgboss.queue RENAME COLUMN dead_letter TO moved");
    await expect(queue.deadDeliveries.list()).rejects.toMatchObject({ name: "QueueError" });
    await sql("ALTER TABLE pgboss.queue RENAME COLUMN moved TO dead_letter");
  });

  it("replays and discards dead deliveries whose jobs pg-boss has archived or deleted", async () => {
    const queue = pgBossQueue(boss, "long-dead", { retryLimit: 0 });
    const ids = ["archived", "archived-too", "deleted"];
    const receiver = inboxReceiver(queue.enqueue);
    for (const id of ids) await receiver.receive(await alarmDelivery(1, id));
    const failing = queue.consume({
      handlers: { new_alarm: () => Promise.reject(new Error("x")) },
    });
    await settlesAt(async () => (await queue.dead()).length, 3);
    await failing();
    await sql(
      "UPDATE pgboss.job SET completed_on = now() - interval '13 h' WHERE name = 'long-dead'",
    );
    await settlesAt(() => queue.jobs(), 0);
    await sql("DELETE FROM pgboss.archive WHERE data->>'id' = 'deleted'");
    expect((await queue.deadDeliveries.discard(["archived-too"])).discarded).toHaveLength(1);
    expect((await queue.deadDeliveries.replay("all")).replayed).toHaveLength(2);
    const takeovers: boolean[] = [];
    const stop = queue.consume({
      handlers: { new_alarm: (_, { takeover }) => takeovers.push(takeover) },
    });
    await settlesAt(() => queue.completed(), 2);
    await stop();
    expect(takeovers).toEqual([true, true]);
    const archived =
      "SELECT data->>'id' AS id, data->>'done' AS done FROM pgboss.archive WHERE name = $1";
    expect(await sql(archived, "long-dead")).toEqual([{ id: "archived-too", done: "discarded" }]);
    const settings = `SELECT DISTINCT retry_limit, dead_letter, extract(epoch FROM expire_in)::int AS expiry
      FROM pgboss.job WHERE name = 'long-dead'`;
    expect(await sql(settings)).toEqual([
      { retry_limit: 0, dead_letter: "long-dead-dead", expiry: 5 },
    ]);
  });
});

describeEngine("BullMQ gives a job up", hasRedisServer, () => {
  let server: RedisServer;
  let redis: Redis;
  const open: Queue[] = [];

  beforeAll(async () => {
    server = await startRedisServer();
    redis = new Redis(server.port);
  });
  afterEach(() => Promise.all(open.splice(0).map((queue) => queue.close())));
  afterAll(async () => {
    redis.disconnect();
    await server.close();
  });

  const queueOf = (name: string): Queue => {
    const queue = new Queue(name, { connection: { port: server.port } });
    open.push(queue);
    return queue;
  };

  const consume = (
    queue: string,
    onJob: (report: JobReport) => unknown,
    workerOptions: Partial<WorkerOptions> = {},
    lines: string[] = [],
  ) =>
    bullmqConsume({
      Worker,
      queue,
      workerOptions: {
        connection: { port: server.port },
        ...{ lockDuration: 5_000, stalledInterval: 500, drainDelay: 1, ...workerOptions },
      },
      handlers: { new_alarm: () => undefined },
      onJob,
      logger: { warn: (line) => lines.push(line), error: (line) => lines.push(line) },
    });

  it("reports a job that stalls too often as dead, once", async () => {
    const queue = queueOf("stalls");
    await inboxReceiver(bullmqEnqueue({ queue })).receive(await alarmDelivery(3, UUID));
    const child = startInboxChild("bullmq", server.url, "stalls", "worker");
    expect(await child.line()).toBe("working");
    expect(await child.line()).toBe("began 3, takeover false");
    await child.kill();
    const reports: JobReport[] = [];
    const lines: string[] = [];
    const take = (report: JobReport) => reports.push(report);
    const stops = [1, 2].map(() => consume("stalls", take, { maxStalledCount: 0 }, lines));
    await settlesAt(() => reports.length, 1);
    const isMarked = async () =>
      (await redis.hkeys(queue.toKey(UUID))).join().includes("gateway-dead");
    await settlesAt(isMarked, true);
    await Promise.all(stops.map((stop) => stop()));
    expect(reports).toEqual([
      expect.objectContaining({
        ...{ outcome: "dead", lastAttempt: true, id: UUID, type: "new_alarm", takeover: true },
        error: new DeadJobError("job stalled more than allowable limit"),
      }),
    ]);
    expect(lines.filter((line) => line.includes("dead: The engine gave the job up"))).toHaveLength(
      1,
    );
  });

  /** Puts a job among the failed ones, by a worker that is not ours. */
  const failBy = async (queue: Queue, id: string): Promise<void> => {
    await inboxReceiver(bullmqEnqueue({ queue, retryLimit: 0 })).receive(
      await alarmDelivery(1, id),
    );
    const stranger = new Worker(
      queue.name,
      () => Promise.reject(new Error("given up by hand: 19900101-1234")),
      { connection: { port: server.port } },
    );
    await settlesAt(() => queue.getFailedCount(), 1);
    await stranger.close();
  };

  it("reports a dead job that its own worker did not, by one worker of several", async () => {
    const queue = queueOf("unreported");
    await failBy(queue, "not-a-uuid");
    await queue.add("not-a-uuid-either", { some: "thing" }, { jobId: "strange" });
    const reports: JobReport[] = [];
    const take = (report: JobReport) => reports.push(report);
    const stops = [consume("unreported", take), consume("unreported", take)];
    await settlesAt(() => reports.map(({ id }) => id).toSorted(), ["not-a-uuid", "strange"]);
    await Promise.all(stops.map((stop) => stop()));
    const byHand = reports.find(({ id }) => id === "not-a-uuid");
    expect(byHand?.error).toEqual(new DeadJobError("given up by hand"));

    const again: JobReport[] = [];
    const key = queue.toKey("#not-a-uuid");
    const field = (await redis.hkeys(key)).find((name) => name.startsWith("gateway-dead")) ?? "";
    // A worker that took the report on and crashed more than a minute ago.
    await redis.hset(key, field, Date.now() - 61_000);
    const stop = consume("unreported", (report) => again.push(report));
    await settlesAt(() => again.map(({ id }) => id), ["not-a-uuid"]);
    await stop();
  });

  it("completes a job without its handler where the worker before crashed after its success", async () => {
    const queue = queueOf("succeeded");
    await inboxReceiver(bullmqEnqueue({ queue })).receive(await alarmDelivery(3, UUID));
    const job = await queue.getJob(UUID);
    const { version, id, type, timestamp } = job?.data as Record<string, unknown>;
    await job?.updateData({ version, id, type, timestamp, done: "handled" });
    let runs = 0;
    const reports: JobReport[] = [];
    const stop = bullmqConsume({
      Worker,
      queue: "succeeded",
      workerOptions: { connection: { port: server.port } },
      handlers: { new_alarm: () => (runs += 1) },
      onJob: (report) => reports.push(report),
    });
    await settlesAt(() => queue.getCompletedCount(), 1);
    await stop();
    expect(runs).toBe(0);
    expect(reports).toEqual([expect.objectContaining({ outcome: "handled", id: UUID })]);
  });

  it("reports a failure that BullMQ did not take, when the worker is stopped", async () => {
    const queue = queueOf("not-taken");
    const receiver = inboxReceiver(bullmqEnqueue({ queue, retryLimit: 0 }));
    await receiver.receive(await alarmDelivery(3, UUID));
    const lines: string[] = [];
    const reports: JobReport[] = [];
    const stop = bullmqConsume({
      Worker,
      queue: "not-taken",
      workerOptions: { connection: { port: server.port }, stalledInterval: 60_000 },
      handlers: {
        new_alarm: async () => {
          await redis.set(`${queue.toKey(UUID)}:lock`, "another's");
          throw new Error("away");
        },
      },
      onJob: (report) => reports.push(report),
      logger: { warn: (line) => lines.push(line), error: (line) => lines.push(line) },
    });
    await settlesAt(() => lines.some((line) => line.includes("reports an error")), true);
    await stop();
    expect(reports.map(({ outcome, lastAttempt }) => [outcome, lastAttempt])).toEqual([
      ["handler_failed", true],
    ]);
    expect(lines.at(-1)).toContain("the engine did not take the result");
  });
});
