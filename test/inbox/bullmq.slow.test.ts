import { Queue, Worker, type Job } from "bullmq";
import { describe, expect, it } from "vitest";
import { GatewayWebhookError, memoryStore } from "../../src/index.js";
import { bullmqQueue } from "../../src/inbox/bullmq/index.js";
import { inboxConsume, type JobReport } from "../../src/inbox/index.js";
import { bullmqJobId } from "../../src/inbox/bullmq/client.js";
import { deferred } from "../support/deferred.js";
import { openBullmqQueue } from "../support/inbox/inbox-bullmq-engine.js";
import { startInboxChild } from "../support/inbox/inbox-child.js";
import { describeOnBullmq } from "../support/inbox/inbox-engines.js";
import {
  alarmDelivery,
  inboxReceiver,
  settlesAt,
  watchWorker,
} from "../support/inbox/receiver-and-worker.js";
import { startRedisServer } from "../support/redis/redis-server.js";

const UUID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";

describe("bullmqJobId", () => {
  it("the job id in BullMQ is the delivery id if that is a UUID, and otherwise no key of BullMQ", () => {
    expect(bullmqJobId(UUID)).toBe(UUID);
    expect(bullmqJobId("123")).toBe("#123");
    expect(bullmqJobId("wait")).toBe("#wait");
  });
});

describeOnBullmq("BullMQ", (engine) => {
  const open = (name: string) => engine().open(name, { retryDelayMs: 1_000, retryLimit: 1 });

  it("a redelivery of a waiting delivery makes no second BullMQ job, one of a dead delivery runs it again, and none of a handled one runs", async () => {
    const { enqueue, consume, jobs, dead, completed } = await open("redelivered");
    const [bad, good] = [await alarmDelivery(1), await alarmDelivery(2)];
    const send = async () => {
      for (const delivery of [bad, good]) await inboxReceiver(enqueue).receive(delivery);
    };
    await send();
    await send();
    expect(await jobs()).toBe(2);
    const runs: number[] = [];
    const { stop } = watchWorker({ consume }, ({ account_id }) => {
      runs.push(account_id);
      if (account_id === 1) throw new Error("made up");
    });
    await settlesAt(async () => (await dead()).length + (await completed()), 2);
    expect(runs.toSorted()).toEqual([1, 1, 2]);
    await send();
    await settlesAt(() => runs.length, 5);
    await settlesAt(async () => (await dead()).length, 1);
    await stop();
    expect(runs.toSorted()).toEqual([1, 1, 1, 1, 2]);
    expect(await jobs()).toBe(1);
  });

  it("the signal of a handler aborts when BullMQ loses the lock of its job, and BullMQ takes no result of it", async () => {
    const { queue, enqueue, consume } = await open("lock");
    await inboxReceiver(enqueue).receive(await alarmDelivery(1, UUID));
    const reasons: unknown[] = [];
    const { stop, lines } = watchWorker({ consume }, async (_, { signal }) => {
      if (reasons.length > 0) return;
      await engine().redis.set(`${queue.toKey(UUID)}:lock`, "another's");
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      reasons.push(signal.reason);
      throw new Error("made up");
    });
    await settlesAt(() => reasons.length, 1);
    await settlesAt(() => lines.length, 1);
    await stop();
    const message = "the lock on the job is lost: another worker may be running it";
    expect(reasons).toEqual([new GatewayWebhookError("job_lock_lost", message)]);
    expect(lines[0]).toContain("the engine did not take the result");
    expect(await queue.getActiveCount()).toBe(1);
  });

  it.each<[string, () => unknown]>([
    ["undefined", () => undefined],
    [
      "an error with a name that BullMQ acts on",
      () => Object.assign(new Error("x"), { name: "UnrecoverableError" }),
    ],
    ["an error that cannot be read", unreadableError],
  ])("BullMQ runs a job again if its handler throws %s", async (_, makeError) => {
    const { queue, enqueue, consume, dead } = await open("thrown");
    await queue.obliterate({ force: true });
    await inboxReceiver(enqueue).receive(await alarmDelivery(1));
    let runs = 0;
    const { stop } = watchWorker({ consume }, () => {
      runs += 1;
      return Promise.reject(makeError());
    });
    await settlesAt(async () => (await dead()).length, 1);
    await stop();
    expect(runs).toBe(2);
  });

  it("a BullMQ worker stops when its handler has ended, although its Redis is gone", async () => {
    const away = await startRedisServer();
    const { queue, enqueue, consume, close } = await openBullmqQueue(away.url, "away");
    await inboxReceiver(enqueue).receive(await alarmDelivery(1));
    const began = deferred();
    const release = deferred();
    const { stop, lines, reports } = watchWorker({ consume }, () => {
      began.resolve();
      return release.promise;
    });
    await began.promise;
    await away.kill();
    const stopped = stop();
    release.resolve();
    await stopped;
    // Whether the store and BullMQ have the result is unknown, so there is no report: the job may run again.
    expect(reports).toEqual([]);
    expect(lines.filter((line) => line.includes("completion failed")).length).toBeGreaterThan(0);
    // BullMQ emits dozens of errors while it tries to connect.
    expect(lines.filter((line) => line.includes("the queue reports")).length).toBeLessThan(6);
    await away.start();
    await settlesAt(() => queue.getWaitingCount(), 0);
    await close();
    await away.close();
  });

  it("a BullMQ job that a worker fetches while it stops goes back, and another worker runs it at once", async () => {
    const { enqueue, consume } = await open("last");
    const taken = deferred();
    const release = deferred();
    class LateWorker extends Worker {
      override async getNextJob(token: string): Promise<Job> {
        const job = await super.getNextJob(token);
        taken.resolve();
        await release.promise;
        return job;
      }
    }
    await inboxReceiver(enqueue).receive(await alarmDelivery(1));
    const workerOptions = { connection: engine().connection };
    const runs: string[] = [];
    const late = inboxConsume({
      driver: bullmqQueue({ Worker: LateWorker, workerOptions, queueName: "last" }),
      store: memoryStore(),
      handlers: { new_alarm: () => runs.push("late") },
      logger: false,
    });
    await taken.promise;
    const stopped = late.stop();
    release.resolve();
    await stopped;
    const { stop } = watchWorker({ consume }, (_, { takeover }) =>
      runs.push(`other, takeover ${takeover}`),
    );
    await settlesAt(() => runs, ["other, takeover false"]);
    await stop();
  });

  it("a BullMQ job that stalls too often is dead, and one of several workers reports it", async () => {
    const { queue, enqueue } = await open("stalls");
    await inboxReceiver(enqueue).receive(await alarmDelivery(3, UUID));
    const child = startInboxChild("bullmq", engine().url, "stalls", "worker");
    expect(await child.line()).toBe("working");
    expect(await child.line()).toBe("began 3, takeover false");
    await child.kill();
    const reports: JobReport[] = [];
    const { connection } = engine();
    const workerOptions = { connection, stalledInterval: 500, drainDelay: 1, maxStalledCount: 0 };
    const driver = bullmqQueue({ queue, Worker, workerOptions });
    const workers = [1, 2].map(() =>
      inboxConsume({
        driver,
        store: memoryStore(),
        logger: false,
        handlers: { new_alarm: () => undefined },
        onJob: (report) => reports.push(report),
      }),
    );
    await settlesAt(() => reports.length, 1);
    await settlesAt(async () => (await driver.list()).map(({ id }) => id), [UUID]);
    await Promise.all(workers.map((worker) => worker.stop()));
    expect(reports).toEqual([
      expect.objectContaining({
        outcome: "dead",
        lastAttempt: true,
        id: UUID,
        type: "new_alarm",
        takeover: true,
        error: new GatewayWebhookError("dead_job", "job stalled more than allowable limit"),
      }),
    ]);
  });

  it("bullmqQueue passes the user's own worker options and the queue's prefix to BullMQ", async () => {
    const { connection } = engine();
    const queue = new Queue("options", { connection, prefix: "apart" });
    const seen: unknown[] = [];
    const Watched = new Proxy(Worker, {
      construct(target, args: unknown[]) {
        seen.push(args);
        return Reflect.construct(target, args) as Worker;
      },
    });
    const settings = { repeatStrategy: () => undefined };
    const workerOptions = { connection, settings };
    const driver = bullmqQueue({ queue, Worker: Watched, workerOptions });
    const handlers = { new_alarm: () => undefined };
    await inboxConsume({ driver, store: memoryStore(), handlers, logger: false }).stop();
    const options = { ...workerOptions, maxStalledCount: 14, prefix: "apart" };
    expect(seen).toEqual([["options", undefined, options]]);
    await queue.close();
  });
});

function unreadableError(): Error {
  const refuse = () => {
    throw new Error("no");
  };
  return Object.defineProperties(new Error("x"), {
    message: { get: refuse },
    stack: { get: refuse },
  });
}
