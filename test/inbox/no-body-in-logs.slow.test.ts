// No part of a body may appear in the logs, reports and answers of an inbox and its workers, whatever the
// error of an engine contains. The errors of a user's handlers are not checked: they belong to the user.
import { randomUUID } from "node:crypto";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { inbox, type InboxJob, type QueueProducer } from "../../src/inbox/index.js";
import { createWebhookReceiver, DiscardDelivery, RetryLater } from "../../src/index.js";
import { CANARIES, canariesIn, canaryAlarm, shownOf } from "../support/canaries.js";
import { delivery, NOW_MS } from "../support/deliveries.js";
import { describeOnBullmq, describeOnPgBoss } from "../support/inbox/inbox-engines.js";
import { settlesAt, watchWorker, watchedLog } from "../support/inbox/receiver-and-worker.js";

const { secret } = CANARIES;

/** Sends one delivery full of canary values. Returns the outcome and all texts about it. */
async function deliver(enqueue: QueueProducer) {
  const { lines, logger } = watchedLog();
  const reports: unknown[] = [];
  const receiver = createWebhookReceiver({
    secret,
    logger,
    now: () => NOW_MS,
    handlers: inbox({ driver: enqueue }),
    onOutcome: (report) => reports.push(report),
  });
  const body = JSON.stringify({ alarm: canaryAlarm() });
  const answer = await receiver.receive(await delivery({ secret, body, id: randomUUID() }));
  return { outcome: answer.outcome, said: shownOf(answer, ...reports, ...lines.flat()) };
}

describe("an error of the user's own enqueue", () => {
  it.each<[string, (job: InboxJob) => unknown, string]>([
    [
      "an error that quotes the job",
      (job) => new Error(`no room for ${job.body}`),
      "Error: no room for",
    ],
    [
      "an error with the job as its cause",
      (job) => new Error("no room", { cause: job }),
      "Error: no room",
    ],
    [
      "an error that keeps the command",
      (job) => Object.assign(new Error("OOM used memory > 'max'"), { command: { args: [job] } }),
      "Error: OOM used memory",
    ],
    [
      "an error of several errors",
      (job) => new AggregateError([new Error(job.body)], "all failed"),
      "AggregateError: all failed",
    ],
    [
      "an error with a code",
      () => Object.assign(new Error(""), { code: "ECONNREFUSED" }),
      "ECONNREFUSED",
    ],
    [
      "an error with a code of PostgreSQL",
      () => Object.assign(new Error("x"), { code: "42P01" }),
      "Error: 42P01: x",
    ],
    [
      "an error with parts of the body in every field",
      (job) =>
        Object.assign(new Error(job.body), {
          name: CANARIES.iban,
          code: CANARIES.iban,
          stack: job.body,
        }),
      "could not be put into the queue",
    ],
    ["the body itself", (job) => job.body, "could not be put into the queue"],
    ["the job itself", (job) => job, "could not be put into the queue"],
    ["undefined", () => undefined, "could not be put into the queue"],
    [
      "an error that cannot be read",
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
  ])("%s, thrown by put, is reported without the body", async (_, makeError, expected) => {
    const { outcome, said } = await deliver({ put: (job) => Promise.reject(makeError(job)) });
    expect(outcome).toBe("handler_failed");
    expect(canariesIn(said)).toEqual([]);
    expect(said).toContain(expected);
  });

  it("RetryLater and DiscardDelivery of a put keep their meaning", async () => {
    const later = await deliver({ put: () => Promise.reject(new RetryLater()) });
    const never = await deliver({
      put: () => Promise.reject(new DiscardDelivery({ reason: "a test account" })),
    });
    expect([later.outcome, never.outcome]).toEqual(["retry_later", "discarded"]);
  });
});

describeOnBullmq("BullMQ on a full Redis", (engine) => {
  it("receiver and worker report errors of BullMQ on a full Redis without the body", async () => {
    const { redis, open } = engine();
    const { enqueue, consume } = await open("full");
    expect((await deliver(enqueue)).outcome).toBe("handled");
    const { lines, logger } = watchedLog();
    const { stop } = watchWorker(
      { consume },
      async () => {
        await redis.config("SET", "maxmemory", "1");
      },
      { logger },
    );
    await settlesAt(() => lines.length > 0, true);
    const { outcome, said } = await deliver(enqueue);
    expect(outcome).toBe("handler_failed");
    expect(canariesIn(shownOf(said, ...lines.flat()))).toEqual([]);
    expect(said).toContain("OOM command not allowed");
    await stop();
  });
});

describeOnPgBoss("pg-boss on a PostgreSQL that refuses rows", (engine) => {
  // One trigger for all tests: to make or drop one beside the worker can end in a deadlock.
  beforeAll(async () => {
    await engine().sql("CREATE TABLE refused (event text)");
    await engine().sql(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF EXISTS (SELECT FROM public.refused WHERE event = TG_OP) THEN
          RAISE EXCEPTION 'no such row: %', COALESCE(NEW::text, OLD::text)
            USING DETAIL = COALESCE(NEW::text, OLD::text);
        END IF;
        RETURN COALESCE(NEW, OLD);
      END $$`);
    await engine().sql(`
      CREATE TRIGGER refusing BEFORE INSERT OR DELETE ON pgboss.job
        FOR EACH ROW EXECUTE FUNCTION refuse()`);
  });
  afterEach(() => engine().sql("DELETE FROM refused"));

  const refuseEach = (event: "INSERT" | "DELETE") =>
    engine().sql("INSERT INTO refused VALUES ($1)", event);

  it("a receiver reports a row that PostgreSQL refuses without the body", async () => {
    await refuseEach("INSERT");
    const { outcome, said } = await deliver((await engine().open("refused")).enqueue);
    expect(outcome).toBe("handler_failed");
    expect(canariesIn(said)).toEqual([]);
    expect(said).toContain("no such row");
  });

  it.each<[string, Parameters<typeof refuseEach>[0], () => unknown]>([
    ["completed", "DELETE", () => undefined],
    ["failed", "INSERT", () => Promise.reject(new Error("no"))],
  ])(
    "a worker reports a %s job whose row PostgreSQL refuses without the body",
    async (name, event, handle) => {
      const queue = await engine().open(name);
      expect((await deliver(queue.enqueue)).outcome).toBe("handled");
      await refuseEach(event);
      const { lines, logger } = watchedLog();
      const stop = queue.consume({ handlers: { new_alarm: handle }, logger });
      await settlesAt(() => shownOf(...lines.flat()).includes("no such row"), true);
      await stop();
      expect(canariesIn(shownOf(...lines.flat()))).toEqual([]);
    },
  );
});
