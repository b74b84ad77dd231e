// Nothing of a body may turn up in the logs, the reports and the answers of a receiver with an inbox and of
// its workers, whatever an engine's error holds. The handlers' own errors are the partner's.
import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import type PgBoss from "pg-boss";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { bullmqEnqueue } from "../../src/inbox/bullmq/index.js";
import { inbox, type Enqueue, type InboxJob } from "../../src/inbox/index.js";
import { createWebhookReceiver, DiscardDelivery, RetryLater } from "../../src/index.js";
import { CANARIES, canariesIn, canaryAlarm, shownOf } from "../support/canaries.js";
import { delivery, NOW_MS } from "../support/deliveries.js";
import { openBullmqQueue } from "../support/inbox/inbox-bullmq-engine.js";
import { describeEngine } from "../support/inbox/inbox-engine.js";
import { pgBossQueue, postgresUrl, startPgBoss } from "../support/inbox/inbox-pg-boss-engine.js";
import { settlesAt } from "../support/inbox/inbox-receiver.js";
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

const { secret } = CANARIES;

/** What a receiver or a worker writes. */
function watchedLog() {
  const lines: unknown[][] = [];
  const take = (...line: unknown[]) => lines.push(line);
  return { lines, logger: { warn: take, error: take } };
}

/** Sends one delivery full of canaries, and gives the outcome and all that was said of it. */
async function handOver(enqueue: Enqueue) {
  const { lines, logger } = watchedLog();
  const reports: unknown[] = [];
  const receiver = createWebhookReceiver({
    ...{ secret, logger, now: () => NOW_MS, handlers: inbox({ enqueue }) },
    onOutcome: (report) => reports.push(report),
  });
  const body = JSON.stringify({ alarm: canaryAlarm() });
  const answer = await receiver.receive(await delivery({ secret, body, id: randomUUID() }));
  return { outcome: answer.outcome, said: shownOf(answer, ...reports, ...lines.flat()) };
}

describe("an error of a partner's own enqueue", () => {
  it.each<[string, (job: InboxJob) => unknown, string]>([
    ["that quotes the job", (job) => new Error(`no room for ${job.body}`), "Error: no room for"],
    [
      "that has the job for a cause",
      (job) => new Error("no room", { cause: job }),
      "Error: no room",
    ],
    [
      "that keeps the command",
      (job) => Object.assign(new Error("OOM used memory > 'max'"), { command: { args: [job] } }),
      "Error: OOM used memory",
    ],
    [
      "of several",
      (job) => new AggregateError([new Error(job.body)], "all failed"),
      "AggregateError: all failed",
    ],
    ["with a code", () => Object.assign(new Error(""), { code: "ECONNREFUSED" }), "ECONNREFUSED"],
    ["of PostgreSQL", () => Object.assign(new Error("x"), { code: "42P01" }), "Error: 42P01: x"],
    [
      "whose every field is of the body",
      (job) =>
        Object.assign(new Error(job.body), {
          ...{ name: CANARIES.iban, code: CANARIES.iban, stack: job.body },
        }),
      "could not be put into the queue",
    ],
    ["that is the body", (job) => job.body, "could not be put into the queue"],
    ["that is the job", (job) => job, "could not be put into the queue"],
    ["that is nothing", () => undefined, "could not be put into the queue"],
    [
      "that cannot be read",
      () =>
        new Proxy(
          {},
          {
            get: () => {
              throw new Error("no");
            },
          },
        ),
      "could not be put into the queue",
    ],
  ])("%s is told without the body", async (_, makeError, expected) => {
    const { outcome, said } = await handOver((job) => Promise.reject(makeError(job)));
    expect(outcome).toBe("handler_failed");
    expect(canariesIn(said)).toEqual([]);
    expect(said).toContain(expected);
  });

  it("says when the delivery comes again, or that it does not", async () => {
    const later = await handOver(() => Promise.reject(new RetryLater()));
    const never = await handOver(() =>
      Promise.reject(new DiscardDelivery({ reason: "a test account" })),
    );
    expect([later.outcome, never.outcome]).toEqual(["retry_later", "discarded"]);
  });
});

describeEngine("BullMQ on a full Redis", hasRedisServer, () => {
  let server: RedisServer;
  let redis: Redis;

  beforeAll(async () => {
    server = await startRedisServer({ "maxmemory-policy": "noeviction" });
    redis = new Redis(server.port);
  });
  afterAll(async () => {
    redis.disconnect();
    await server.close();
  });

  it("is told without the body, by the receiver and by the worker", async () => {
    const { queue, enqueue, consume } = await openBullmqQueue(server.url, "full");
    expect((await handOver(enqueue)).outcome).toBe("handled");
    const { lines, logger } = watchedLog();
    const stop = consume({
      handlers: {
        new_alarm: async () => {
          await redis.config("SET", "maxmemory", "1");
        },
      },
      logger,
    });
    await settlesAt(() => lines.length > 0, true);
    const { outcome, said } = await handOver(bullmqEnqueue({ queue }));
    expect(outcome).toBe("handler_failed");
    expect(canariesIn(shownOf(said, ...lines.flat()))).toEqual([]);
    expect(said).toContain("OOM command not allowed");
    await stop();
    await queue.close();
  });
});

describeEngine("pg-boss on a PostgreSQL that refuses rows", postgresBinaries !== undefined, () => {
  let server: PostgresServer;
  let boss: PgBoss;

  const sql = (text: string) => boss.getDb().executeSql(text, []);

  beforeAll(async () => {
    server = await startPostgres();
    boss = await startPgBoss(postgresUrl(server.port));
    await sql(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'no such row: %', NEW.data USING DETAIL = NEW.data::text; END $$`);
  });
  afterEach(() => sql("DROP TRIGGER refusing ON pgboss.job"));
  afterAll(async () => {
    await boss.stop({ graceful: false });
    await server.close();
  });

  const refuseEach = (event: "INSERT" | "UPDATE OF output") =>
    sql(
      `CREATE TRIGGER refusing BEFORE ${event} ON pgboss.job FOR EACH ROW EXECUTE FUNCTION refuse()`,
    );

  it("is told without the body by the receiver", async () => {
    await refuseEach("INSERT");
    const { outcome, said } = await handOver(pgBossQueue(boss, "refused").enqueue);
    expect(outcome).toBe("handler_failed");
    expect(canariesIn(said)).toEqual([]);
    expect(said).toContain("no such row");
  });

  it.each([
    ["completed", () => undefined],
    ["failed", () => Promise.reject(new Error("no"))],
  ])("is told without the body by the worker whose job is %s", async (name, handle) => {
    const queue = pgBossQueue(boss, name);
    expect((await handOver(queue.enqueue)).outcome).toBe("handled");
    await refuseEach("UPDATE OF output");
    const { lines, logger } = watchedLog();
    const stop = queue.consume({ handlers: { new_alarm: handle }, logger });
    await settlesAt(() => shownOf(...lines.flat()).includes("no such row"), true);
    await stop();
    expect(canariesIn(shownOf(...lines.flat()))).toEqual([]);
  });
});
