// The engine may give up a job although no handler failed. No worker sees that, and one must report it.
import type { Queue } from "bullmq";
import { Worker, type WorkerOptions } from "bullmq";
import { expect, it } from "vitest";
import { GatewayWebhookError } from "../../src/index.js";
import type { JobReport } from "../../src/inbox/index.js";
import { bullmqConsume, bullmqEnqueue } from "../../src/inbox/bullmq/index.js";
import { startInboxChild } from "../support/inbox/inbox-child.js";
import { describeOnBullmq } from "../support/inbox/inbox-engines.js";
import {
  alarmDelivery,
  inboxReceiver,
  settlesAt,
  settlesAtLine,
} from "../support/inbox/receiver-and-worker.js";

const UUID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";

describeOnBullmq("BullMQ", (engine) => {
  const consume = (
    queueName: string,
    onJob: (report: JobReport) => unknown,
    workerOptions: Partial<WorkerOptions> = {},
    lines: string[] = [],
  ) =>
    bullmqConsume({
      Worker,
      queueName,
      workerOptions: {
        connection: engine().connection,
        ...{ lockDuration: 5_000, stalledInterval: 500, drainDelay: 1, ...workerOptions },
      },
      handlers: { new_alarm: () => undefined },
      onJob,
      logger: { warn: (line) => lines.push(line), error: (line) => lines.push(line) },
    });

  it("a job that stalls too often is reported as dead once", async () => {
    const { queue } = await engine().open("stalls");
    await inboxReceiver(bullmqEnqueue({ queue })).receive(await alarmDelivery(3, UUID));
    const child = startInboxChild("bullmq", engine().url, "stalls", "worker");
    expect(await child.line()).toBe("working");
    expect(await child.line()).toBe("began 3, takeover false");
    await child.kill();
    const reports: JobReport[] = [];
    const lines: string[] = [];
    const take = (report: JobReport) => reports.push(report);
    const stops = [1, 2].map(() => consume("stalls", take, { maxStalledCount: 0 }, lines));
    await settlesAt(() => reports.length, 1);
    const isMarked = async () =>
      (await engine().redis.hkeys(queue.toKey(UUID))).join().includes("gateway-dead");
    await settlesAt(isMarked, true);
    await Promise.all(stops.map((stop) => stop()));
    expect(reports).toEqual([
      expect.objectContaining({
        ...{ outcome: "dead", lastAttempt: true, id: UUID, type: "new_alarm", takeover: true },
        error: new GatewayWebhookError("dead_job", "job stalled more than allowable limit"),
      }),
    ]);
    expect(lines.filter((line) => line.includes("dead: The engine gave up the job"))).toHaveLength(
      1,
    );
  });

  /** Fails a job for good with a worker of another program. */
  const failBy = async (queue: Queue, id: string): Promise<void> => {
    await inboxReceiver(bullmqEnqueue({ queue, retryLimit: 0 })).receive(
      await alarmDelivery(1, id),
    );
    const foreign = new Worker(
      queue.name,
      () => Promise.reject(new Error("given up by hand: 19900101-1234")),
      { connection: engine().connection },
    );
    await settlesAt(() => queue.getFailedCount(), 1);
    await foreign.close();
  };

  it("a dead job that its own worker did not report is reported by one of several workers", async () => {
    const { queue } = await engine().open("unreported");
    await failBy(queue, "not-a-uuid");
    await queue.add("not-a-uuid-either", { some: "thing" }, { jobId: "strange" });
    const reports: JobReport[] = [];
    const take = (report: JobReport) => reports.push(report);
    const stops = [consume("unreported", take), consume("unreported", take)];
    await settlesAt(() => reports.map(({ id }) => id).toSorted(), ["not-a-uuid", "strange"]);
    await Promise.all(stops.map((stop) => stop()));
    const byHand = reports.find(({ id }) => id === "not-a-uuid");
    expect(byHand?.error).toEqual(new GatewayWebhookError("dead_job", "given up by hand"));

    const again: JobReport[] = [];
    const key = queue.toKey("#not-a-uuid");
    const field =
      (await engine().redis.hkeys(key)).find((name) => name.startsWith("gateway-dead")) ?? "";
    // Simulates a worker that claimed the report and crashed more than a minute ago.
    await engine().redis.hset(key, field, Date.now() - 61_000);
    const stop = consume("unreported", (report) => again.push(report));
    await settlesAt(() => again.map(({ id }) => id), ["not-a-uuid"]);
    await stop();
  });

  it("a job whose worker crashed after the handler succeeded is completed without its handler", async () => {
    const { queue } = await engine().open("succeeded");
    await inboxReceiver(bullmqEnqueue({ queue })).receive(await alarmDelivery(3, UUID));
    const job = await queue.getJob(UUID);
    const { version, id, type, timestamp } = job?.data as Record<string, unknown>;
    await job?.updateData({ version, id, type, timestamp, done: "handled" });
    let runs = 0;
    const reports: JobReport[] = [];
    const stop = bullmqConsume({
      Worker,
      queueName: "succeeded",
      workerOptions: { connection: engine().connection },
      handlers: { new_alarm: () => (runs += 1) },
      onJob: (report) => reports.push(report),
    });
    await settlesAt(() => queue.getCompletedCount(), 1);
    await stop();
    expect(runs).toBe(0);
    expect(reports).toEqual([expect.objectContaining({ outcome: "handled", id: UUID })]);
  });

  it("a failure that BullMQ did not take is reported when the worker is stopped", async () => {
    const { queue } = await engine().open("not-taken");
    const receiver = inboxReceiver(bullmqEnqueue({ queue, retryLimit: 0 }));
    await receiver.receive(await alarmDelivery(3, UUID));
    const lines: string[] = [];
    const reports: JobReport[] = [];
    const stop = bullmqConsume({
      Worker,
      queueName: "not-taken",
      workerOptions: { connection: engine().connection, stalledInterval: 60_000 },
      handlers: {
        new_alarm: async () => {
          await engine().redis.set(`${queue.toKey(UUID)}:lock`, "another's");
          throw new Error("away");
        },
      },
      onJob: (report) => reports.push(report),
      logger: { warn: (line) => lines.push(line), error: (line) => lines.push(line) },
    });
    await settlesAtLine(lines, "reports an error");
    await stop();
    expect(reports.map(({ outcome, lastAttempt }) => [outcome, lastAttempt])).toEqual([
      ["handler_failed", true],
    ]);
    expect(lines.at(-1)).toContain("the engine did not take the result");
  });
});
