import { randomUUID } from "node:crypto";
import { inspect } from "node:util";
import { Queue, Worker, type Job, type JobsOptions } from "bullmq";
import { expect, it } from "vitest";
import { GatewayWebhookError } from "../../src/index.js";
import { bullmqQueue } from "../../src/inbox/bullmq/index.js";
import { startBlackHoleProxy } from "../support/black-hole-proxy.js";
import { canariesIn, shownOf } from "../support/canaries.js";
import { expectEnd, runCommand } from "../support/cli/cli-io.js";
import { deferred } from "../support/deferred.js";
import {
  describeOnBullmq,
  describeOnBullmqPostgres,
  HOLD_MS,
  openBullmqQueue,
} from "../support/inbox/inbox-engines.js";
import { keepsContract } from "../support/inbox/queue-matrix.js";
import {
  alarmDelivery,
  alarmJob,
  deliverCanaries,
  failingWorker,
  inboxReceiver,
  settlesAt,
  watchedLog,
  watchWorker,
  queueAlarm,
} from "../support/inbox/receiver-and-worker.js";
import { startRedisServer } from "../support/redis/redis-server.js";
import { send } from "../support/alarm-receiver.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const folder = temporaryFolder();
const UUID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";
const ONCE_MORE = { retryLimit: 1, retryDelayMs: 1_000 };

describeOnBullmqPostgres("BullMQ on PostgreSQL", (engine) => {
  it("BullMQ on PostgreSQL without its tables names what is missing, at a put and when a worker starts", async () => {
    const { queue, driver } = engine().open("unmigrated", false);
    await expect(queue.waitUntilReady()).rejects.toThrow("migrate: true");
    const put = driver.put(await alarmJob(), {});
    await expect(put).rejects.toThrow("run the migrations of BullMQ");
    const { lines, logger } = watchedLog();
    const { stop } = watchWorker(driver, () => undefined, { logger });
    const said = () => inspect(lines, { depth: 4 });
    await settlesAt(() => said().includes("run the migrations of BullMQ"), true);
    await stop();
  });

  keepsContract(
    "BullMQ on PostgreSQL",
    async () => {
      const made = engine().open(randomUUID());
      await made.queue.waitUntilReady();
      return { ...made, otherClient: made.newClient().driver };
    },
    ["lists dead jobs"],
    { holdMs: HOLD_MS },
  );
});

describeOnBullmq("BullMQ", (engine) => {
  keepsContract(
    "BullMQ",
    async (holdMs) => {
      const locks = { lockDuration: holdMs / 2, stalledInterval: holdMs / 2 };
      const made = await engine().open(randomUUID(), locks);
      const { queue, newClient } = made;
      return {
        ...made,
        otherClient: newClient().driver,
        dump: engine().dump,
        async putStrange() {
          const strange = [{ timestamp: 9e15 }, { timestamp: -1 }, { jobId: "a:b:c" }];
          for (const options of strange) await queue.add("x", { id: "a", type: "b" }, options);
          await queue.add("x", { version: 2 });
          return strange.length + 1;
        },
      };
    },
    ["lists dead jobs", "shows what it has stored"],
    { holdMs: HOLD_MS },
  );

  it("the command jobs lists, replays and discards the dead jobs of BullMQ", async () => {
    const { driver } = await engine().open("night");
    for (const id of [UUID, "of-account-2"]) await queueAlarm(driver, id === UUID ? 1 : 2, id);
    const failing = failingWorker(driver);
    await settlesAt(() => failing.reports.map(({ outcome }) => outcome), ["dead", "dead"]);
    await failing.stop();
    // A module outside of the sources gets the driver of this test.
    Object.assign(globalThis, { driverOfJobs: driver });
    const module = folder.write("queue.mjs", "export const driver = globalThis.driverOfJobs;");
    const jobs = (words: string) => runCommand(`jobs ${words} --module ${module} --json`);
    const { stdout } = await jobs("list");
    const { dead } = JSON.parse(stdout) as { dead: readonly { id: string; error: string }[] };
    expect(dead.map(({ id }) => id).toSorted()).toEqual([UUID, "of-account-2"]);
    await expectEnd(jobs("discard --account-id 2 --yes"), {
      json: { discarded: ["of-account-2"], notFound: [], passed: true },
    });
    await expectEnd(jobs(`replay ${UUID}`), { json: { replayed: [UUID], notFound: [] } });
    const handled: string[] = [];
    const working = watchWorker(driver, (_alarm, { id }) => handled.push(id));
    await settlesAt(() => handled, [UUID]);
    await working.stop();
    await expectEnd(jobs("list"), { json: { dead: [] } });
  });

  it("no put searches the jobs that wait in BullMQ", async () => {
    const { driver } = await engine().open("many");
    await engine().redis.config("RESETSTAT");
    const answer = await queueAlarm(driver);
    const calls = await engine().redis.info("commandstats");
    expect(answer.outcome).toBe("handled");
    expect(calls).toContain("cmdstat_hgetall");
    expect(calls).not.toContain("cmdstat_lpos");
  });

  it("the handler's signal aborts when BullMQ loses the lock of its job", async () => {
    const { queue, driver } = await engine().open("lock");
    await queueAlarm(driver, 1, UUID);
    const reasons: unknown[] = [];
    const handle = async (_: unknown, { signal }: { signal: AbortSignal }) => {
      if (reasons.length > 0) return;
      await engine().redis.set(`${queue.toKey(UUID)}:lock`, "another's");
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      reasons.push(signal.reason);
      throw new Error("made up");
    };
    const { stop, lines } = watchWorker(driver, handle, { ...ONCE_MORE, leaseMs: 4_000 });
    await settlesAt(() => reasons.length, 1);
    await settlesAt(() => lines.length, 1);
    await stop();
    const message = "the lock on the job is lost: another worker may be running it";
    expect(reasons).toEqual([new GatewayWebhookError("job_lock_lost", message)]);
    expect(lines[0]).toContain("the engine did not take the result");
    expect(await queue.getActiveCount()).toBe(1);
  });

  it("BullMQ runs a job again if its handler throws an error with a name that BullMQ acts on", async () => {
    const { driver } = await engine().open("unrecoverable");
    await queueAlarm(driver);
    let runs = 0;
    const handle = () => {
      runs += 1;
      return Promise.reject(Object.assign(new Error("x"), { name: "UnrecoverableError" }));
    };
    const { stop } = watchWorker(driver, handle, ONCE_MORE);
    await settlesAt(async () => (await driver.list()).length, 1);
    await stop();
    expect(runs).toBe(2);
  });

  it("a BullMQ worker stops although its Redis is gone, and a receiver answers 500", async () => {
    const away = await startRedisServer();
    const { queue, driver } = openBullmqQueue("away", away.port);
    await queue.waitUntilReady();
    const receiver = inboxReceiver(driver, 2_000);
    await receiver.receive(await alarmDelivery(1));
    const began = deferred();
    const release = deferred();
    const { stop, lines } = watchWorker(driver, () => {
      began.resolve();
      return release.promise;
    });
    await began.promise;
    await away.kill();
    const second = await alarmDelivery(2);
    expect(await send(receiver, second)).toBe("500 handler_failed");
    const stopped = stop();
    release.resolve();
    await stopped;
    // BullMQ emits dozens of errors while it tries to connect.
    expect(lines.filter((line) => line.includes("the queue reports")).length).toBeLessThan(6);
    await away.start();
    await settlesAt(async () => (await receiver.receive(second)).status, 200);
    await queue.close();
    await away.close();
  });

  it("another worker runs a BullMQ job that was fetched during a stop", async () => {
    const { driver } = await engine().open("last");
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
    await queueAlarm(driver);
    const workerOptions = { connection: engine().connection };
    const runs: string[] = [];
    const late = bullmqQueue({ Worker: LateWorker, workerOptions, queueName: "last" });
    const stopping = watchWorker(late, () => runs.push("late"));
    await taken.promise;
    const stopped = stopping.stop();
    release.resolve();
    await stopped;
    const { stop } = watchWorker(driver, (_, { takeover }) =>
      runs.push(`other, takeover ${takeover}`),
    );
    await settlesAt(() => runs, ["other, takeover false"]);
    await stop();
  });

  it("a BullMQ job that stalls too often is dead and reported once", async () => {
    const { driver, kill, newClient } = await engine().open("stalls", {
      maxStalledCount: 0,
      lockDuration: 1_000,
    });
    await queueAlarm(driver, 3, UUID);
    const began = deferred();
    const release = deferred();
    const killed = watchWorker(driver, () => {
      began.resolve();
      return release.promise;
    });
    await began.promise;
    await kill();
    const workers = [1, 2].map(() => watchWorker(newClient().driver, () => undefined));
    const reports = () => workers.flatMap((worker) => worker.reports);
    await settlesAt(() => reports().length, 1);
    await settlesAt(async () => (await driver.list()).map(({ id }) => id), [UUID]);
    release.resolve();
    await Promise.all([...workers, killed].map(({ stop }) => stop({ timeoutMs: 5_000 })));
    expect(reports()).toEqual([
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

  it("bullmqQueue passes the user's worker options and the queue's prefix on", async () => {
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
    await watchWorker(driver, () => undefined).stop();
    const options = { ...workerOptions, maxStalledCount: 14, prefix: "apart" };
    expect(seen).toEqual([["options", undefined, options]]);
    await queue.close();
  });

  // An engine may resolve a write although it made no job. Acknowledged then, the delivery would be lost.
  it.each<[string, JobsOptions]>([
    ["one-of-all", { deduplication: { id: "alarms", ttl: 60_000 } }],
    ["the-last-of-all", { deduplication: { id: "alarms", replace: true }, delay: 60_000 }],
  ])(
    "each delivery becomes a job despite the queue's deduplication %s",
    async (name, defaultJobOptions) => {
      const { queue, driver } = await engine().open(name, {}, { defaultJobOptions });
      for (const account of [1, 2]) {
        const { status } = await queueAlarm(driver, account);
        expect(status).toBe(200);
      }
      expect(await queue.count()).toBe(2);
    },
  );

  it("a receiver answers 500 if BullMQ returns another job", async () => {
    const { queue } = await engine().open("wrapped");
    const add = queue.add.bind(queue);
    const deduplication = { id: "alarms" };
    queue.add = (name, data, options) => add(name, data, { ...options, deduplication });
    const receiver = inboxReceiver(bullmqQueue({ queue }));
    expect((await receiver.receive(await alarmDelivery(1))).status).toBe(200);
    expect(await receiver.receive(await alarmDelivery(2))).toMatchObject({
      status: 500,
      outcome: "handler_failed",
    });
    expect(await queue.count()).toBe(1);
  });

  it("receiver and worker of BullMQ survive a dead connection with a socketTimeout", async () => {
    const proxy = await startBlackHoleProxy(engine().server.port);
    const connection = { host: "127.0.0.1", port: proxy.port, socketTimeout: 3_000 };
    const queue = new Queue("timeouts", { connection });
    queue.on("error", () => undefined);
    const driver = bullmqQueue({ queue, Worker, workerOptions: { connection, drainDelay: 1 } });
    const receiver = inboxReceiver(driver, 1_000);
    const handled: number[] = [];
    const { stop } = watchWorker(driver, (alarm) => handled.push(alarm.account_id));
    await receiver.receive(await alarmDelivery(1));
    await settlesAt(() => handled, [1]);

    proxy.swallow();
    const delivery = await alarmDelivery(2);
    expect((await receiver.receive(delivery)).status).toBe(500);
    await settlesAt(async () => (await receiver.receive(delivery)).status, 200);
    await settlesAt(() => handled, [1, 2]);
    await stop();
    await queue.close();
    await proxy.close();
  });

  // The last test: its Redis is full afterwards.
  it("the errors of a full Redis are reported without the body", async () => {
    const { driver } = await engine().open("full");
    expect((await deliverCanaries(driver)).outcome).toBe("handled");
    const { lines, logger } = watchedLog();
    const fill = () => engine().redis.config("SET", "maxmemory", "1");
    const { stop } = watchWorker(driver, fill, { logger });
    await settlesAt(() => lines.length > 0, true);
    const { outcome, said } = await deliverCanaries(driver);
    expect(outcome).toBe("handler_failed");
    expect(canariesIn(shownOf(said, ...lines.flat()))).toEqual([]);
    expect(said).toContain("OOM command not allowed");
    await stop();
  });
});
