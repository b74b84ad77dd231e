import { Worker } from "bullmq";
import { describe, expect, it } from "vitest";
import { GatewayWebhookError } from "../../src/index.js";
import { bullmqConsume } from "../../src/inbox/bullmq/index.js";
import { backoffDelay } from "../../src/inbox/bullmq/job-options.js";
import { JobFailure } from "../../src/inbox/job-failure.js";
import { bullmqJobId } from "../../src/inbox/job-id.js";
import { deferred } from "../support/deferred.js";
import { openBullmqQueue } from "../support/inbox/inbox-bullmq-engine.js";
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

describe("backoffDelay", () => {
  const job = { opts: { backoff: { type: "gateway-delivery", delay: 1_000 } } };

  it("the delay of a failed job doubles with each attempt, up to the longest timer", () => {
    const delays = [1, 2, 5, 1_000].map((made) => backoffDelay(made, "", new Error("x"), job));
    expect(delays).toEqual([1_000, 2_000, 16_000, 2_147_483_647]);
  });

  it("the delay of a failed job is that of RetryLater if it has one", () => {
    expect(backoffDelay(1, "", new JobFailure("x", 5_000), job)).toBe(5_000);
  });

  it("the delay of a job that the inbox did not make is the default", () => {
    for (const foreign of [undefined, {}, { opts: { backoff: { delay: "1" } } }]) {
      expect(backoffDelay(1, "", undefined, foreign)).toBe(10_000);
    }
  });
});

describeOnBullmq("BullMQ", (engine) => {
  const open = (name: string) => engine().open(name, { retryDelayMs: 1_000, retryLimit: 1 });

  it("each BullMQ job stores how it is retried and how long it is kept", async () => {
    const { queue, enqueue } = await open("settings");
    await inboxReceiver(enqueue).receive(await alarmDelivery(1, UUID));
    const job = await queue.getJob(UUID);
    expect(job?.name).toBe("new_alarm");
    expect(job?.opts).toMatchObject({
      attempts: 2,
      backoff: { type: "gateway-delivery", delay: 1_000 },
      removeOnComplete: { age: 604_800 },
      removeOnFail: false,
    });
  });

  it("BullMQ removes a completed job after its age, and knows the delivery until then", async () => {
    const { queue, enqueue, completed, consume, jobs } = await open("ages");
    const [old, fresh] = [await alarmDelivery(1), await alarmDelivery(2)];
    await inboxReceiver(enqueue).receive(old);
    const { stop } = watchWorker({ consume }, () => undefined);
    await settlesAt(completed, 1);
    const days = (count: number) => Date.now() - count * 86_400_000;
    await engine().redis.zadd(queue.toKey("completed"), days(6.9), old.headers["X-Webhook-Id"]);
    await inboxReceiver(enqueue).receive(fresh);
    await settlesAt(completed, 2);
    await inboxReceiver(enqueue).receive(old);
    expect(await jobs()).toBe(2);

    await engine().redis.zadd(queue.toKey("completed"), days(7.1), old.headers["X-Webhook-Id"]);
    await inboxReceiver(enqueue).receive(await alarmDelivery(3));
    await settlesAt(() => queue.getJob(old.headers["X-Webhook-Id"]), undefined);
    await stop();
  });

  it("the signal of a handler aborts when BullMQ loses the lock of its job", async () => {
    const { queue, enqueue, consume } = await open("lock");
    const delivery = await alarmDelivery(1);
    await inboxReceiver(enqueue).receive(delivery);
    const reasons: unknown[] = [];
    const { stop } = watchWorker({ consume }, async (_, { id, signal }) => {
      if (reasons.length > 0) return;
      await engine().redis.set(`${queue.toKey(id)}:lock`, "another's");
      await new Promise((resolve) => {
        signal.addEventListener("abort", resolve);
      });
      reasons.push(signal.reason);
    });
    await settlesAt(
      () => reasons,
      [
        new GatewayWebhookError(
          "job_lock_lost",
          "the lock on the job is lost: another worker may be running it",
        ),
      ],
    );
    expect(reasons).toMatchObject([{ code: "job_lock_lost" }]);
    await stop();
  });

  it.each<[string, () => unknown]>([
    ["undefined", () => undefined],
    ["null", () => null],
    ["an error that BullMQ acts on", () => new Error("bullmq:rateLimitExceeded")],
    ["the text of that error", () => "bullmq:rateLimitExceeded"],
    [
      "an error with a name that BullMQ acts on",
      () => Object.assign(new Error("x"), { name: "DelayedError" }),
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
    const { queue, enqueue, consume } = await openBullmqQueue(away.url, "away");
    await inboxReceiver(enqueue).receive(await alarmDelivery(1));
    const began = deferred();
    const release = deferred();
    const { stop, lines } = watchWorker({ consume }, () => {
      began.resolve();
      return release.promise;
    });
    await began.promise;
    await away.kill();
    const stopped = stop();
    release.resolve();
    await stopped;
    expect(lines.at(-1)).toContain("could not be closed in order");
    // BullMQ emits dozens of errors while it tries to connect.
    expect(lines.length).toBeLessThan(6);
    await away.start();
    await settlesAt(() => queue.getWaitingCount(), 0);
    await queue.close();
    await away.close();
  });

  it("bullmqConsume passes the user's own worker options to BullMQ", async () => {
    const { enqueue, completed } = await open("options");
    await inboxReceiver(enqueue).receive(await alarmDelivery(1));
    const seen: unknown[] = [];
    const repeatStrategy = () => undefined;
    const Watched = new Proxy(Worker, {
      construct(target, args: unknown[]) {
        seen.push(args[2]);
        return Reflect.construct(target, args) as Worker;
      },
    });
    const stop = bullmqConsume({
      Worker: Watched,
      queueName: "options",
      workerOptions: {
        connection: engine().connection,
        concurrency: 3,
        settings: { repeatStrategy },
      },
      handlers: { new_alarm: () => undefined },
      logger: false,
    });
    await settlesAt(completed, 1);
    await stop();
    expect(seen).toEqual([
      expect.objectContaining({
        concurrency: 3,
        maxStalledCount: 14,
        settings: { repeatStrategy, backoffStrategy: backoffDelay },
      }),
    ]);
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
