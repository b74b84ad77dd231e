// The engine may give up a job although no handler failed. No worker sees that, and one must report it.
import { expect, it } from "vitest";
import { GatewayWebhookError, memoryStore } from "../../src/index.js";
import type { InboxJob, JobReport } from "../../src/inbox/index.js";
import { inboxConsume } from "../../src/inbox/index.js";
import { pgBossQueue } from "../../src/inbox/pg-boss/index.js";
import { deferred } from "../support/deferred.js";
import { describeOnPgBoss } from "../support/inbox/inbox-engines.js";
import {
  alarmDelivery,
  inboxReceiver,
  settlesAt,
  watchWorker,
} from "../support/inbox/receiver-and-worker.js";

const UUID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";

describeOnPgBoss("pg-boss", (engine) => {
  it("a job that expires on its last attempt is reported as dead by one of several workers", async () => {
    const queue = await engine().open("expires-for-good", { retryLimit: 0 });
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
    await settlesAt(async () => {
      // As if the worker had been paused for a minute: it does not extend the job.
      await engine().sql(
        "UPDATE pgboss.job SET started_on = now() - interval '60 s' WHERE name = 'expires-for-good'",
      );
      return reports.length;
    }, 1);
    expect(reports).toEqual([
      {
        ...{ outcome: "dead", attempt: 1, lastAttempt: true, id: UUID, type: "new_alarm" },
        ...{ durationMs: 0, waitedMs: 0, takeover: true },
        error: new GatewayWebhookError("dead_job", "job failed by timeout in active state"),
      },
    ]);
    expect(reports[0]?.error).toMatchObject({ code: "dead_job" });
    expect(lines.at(-1)).toContain("dead: The engine gave up the job");

    // The dead letter is marked, so no worker reports it again.
    const looks = "SELECT 1 FROM pgboss.job WHERE name = $1 AND output->'reported' IS NOT NULL";
    await settlesAt(async () => (await engine().sql(looks, "expires-for-good-dead")).length, 1);
    expect(await queue.deadDeliveries.list()).toHaveLength(1);
    // The handler still succeeds: the job is no longer dead, and its body is removed.
    release.resolve();
    await settlesAt(() => queue.jobs(), 0);
    await settlesAt(() => reports.length, 2);
    await Promise.all(stops.map((stop) => stop()));
    expect(reports[1]).toMatchObject({ outcome: "handled", id: UUID });
    expect(await queue.deadDeliveries.list()).toEqual([]);
    expect(await queue.dead()).toEqual([]);
  });

  it("dead jobs of crashed workers and of other programs are reported by one of several workers", async () => {
    const queue = await engine().open("unreported", { retryLimit: 0 });
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1, UUID));
    // Another worker or an operator fails the job.
    await engine().boss.fetch("unreported");
    await engine().boss.fail("unreported", UUID, { message: "given up by hand: 19900101-1234" });
    await engine().boss.send("unreported-dead", { some: "thing" });
    // Simulates a worker that claimed the report and crashed a minute ago.
    await engine().sql(
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

  it("a worker logs that its search for unreported dead jobs failed", async () => {
    const queue = await engine().open("unseen");
    await inboxReceiver(queue.enqueue).receive(await alarmDelivery(1));
    await engine().sql("ALTER TABLE pgboss.queue RENAME COLUMN dead_letter TO moved");
    const errors: unknown[] = [];
    const stop = queue.consume({
      handlers: { new_alarm: () => undefined },
      logger: { warn: () => undefined, error: (_, { err }) => errors.push(err) },
    });
    await settlesAt(() => errors.length, 1);
    expect(String(errors[0])).toContain("the search for unreported dead jobs of pg-boss failed");
    await engine().sql("ALTER TABLE pgboss.queue RENAME COLUMN moved TO dead_letter");
    await stop();
    await engine().sql("ALTER TABLE pgboss.queue RENAME COLUMN dead_letter TO moved");
    await expect(queue.deadDeliveries.list()).rejects.toMatchObject({ name: "QueueError" });
    await engine().sql("ALTER TABLE pgboss.queue RENAME COLUMN moved TO dead_letter");
  });

  it("dead deliveries can be replayed and discarded after pg-boss has archived or deleted their jobs", async () => {
    const queue = await engine().open("long-dead", { retryLimit: 0 });
    const ids = ["archived", "archived-too", "deleted"];
    const receiver = inboxReceiver(queue.enqueue);
    for (const id of ids) await receiver.receive(await alarmDelivery(1, id));
    const { stop: failing } = watchWorker(queue, () => Promise.reject(new Error("x")));
    await settlesAt(async () => (await queue.dead()).length, 3);
    await failing();
    await engine().sql(
      "UPDATE pgboss.job SET completed_on = now() - interval '13 h' WHERE name = 'long-dead'",
    );
    await settlesAt(() => queue.jobs(), 0);
    await engine().sql("DELETE FROM pgboss.archive WHERE data->>'id' = 'deleted'");
    expect((await queue.deadDeliveries.discard(["archived-too"])).discarded).toHaveLength(1);
    expect((await queue.deadDeliveries.replay("all")).replayed).toHaveLength(2);
    expect(await engine().sql("SELECT id FROM pgboss.archive WHERE name = 'long-dead'")).toEqual(
      [],
    );
    const settings = `SELECT DISTINCT retry_limit, dead_letter, extract(epoch FROM expire_in)::int AS expiry
      FROM pgboss.job WHERE name = 'long-dead'`;
    expect(await engine().sql(settings)).toEqual([
      { retry_limit: 0, dead_letter: "long-dead-dead", expiry: 3 },
    ]);
    const handled: string[] = [];
    const { stop } = watchWorker(queue, (_, { id }) => handled.push(id));
    await settlesAt(() => queue.jobs(), 0);
    await stop();
    expect(handled.toSorted()).toEqual(["archived", "deleted"]);
  });

  it("a queue with another dead letter queue takes no job, so no dead job is out of sight", async () => {
    const queueName = "renamed";
    const driverOf = (deadLetterQueueName?: string) =>
      pgBossQueue({ boss: engine().boss, queueName, deadLetterQueueName, retryLimit: 0 });
    const send = async (deadLetterQueueName?: string) =>
      inboxReceiver(driverOf(deadLetterQueueName)).receive(await alarmDelivery(1));
    expect(await send("graveyard")).toMatchObject({ status: 200 });
    expect(await send()).toMatchObject({ status: 500 });
    const refused = driverOf("other").put({ id: UUID } as InboxJob, undefined);
    await expect(refused).rejects.toThrow(
      "the queue renamed keeps its dead jobs in graveyard, not in other",
    );
    expect(await send("graveyard")).toMatchObject({ status: 200 });
    expect(await engine().sql("SELECT 1 FROM pgboss.job WHERE name = $1", queueName)).toHaveLength(
      2,
    );

    const reports: JobReport[] = [];
    const { stop } = inboxConsume({
      driver: driverOf(),
      store: memoryStore(),
      handlers: { new_alarm: () => Promise.reject(new Error("away")) },
      onJob: (report) => reports.push(report),
      logger: false,
    });
    await settlesAt(() => reports.map(({ outcome }) => outcome), ["dead", "dead"]);
    await stop();
    expect(await driverOf().list()).toHaveLength(2);
  });

  it("a queue that was made without a dead letter queue takes jobs with the default name only", async () => {
    const queueName = "plain";
    await engine().boss.createQueue(queueName);
    const send = async (deadLetterQueueName?: string) => {
      const enqueue = pgBossQueue({ boss: engine().boss, queueName, deadLetterQueueName });
      return inboxReceiver(enqueue).receive(await alarmDelivery(1));
    };
    expect(await send("graveyard")).toMatchObject({ status: 500 });
    expect(await send()).toMatchObject({ status: 200 });
  });
});
