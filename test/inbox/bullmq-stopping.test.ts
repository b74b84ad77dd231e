import { Worker, type Job } from "bullmq";
import { afterAll, beforeAll, expect, it } from "vitest";
import { WorkerStoppingError, bullmqConsume } from "../../src/inbox/bullmq/index.js";
import { deferred } from "../support/deferred.js";
import { openBullmqQueue } from "../support/inbox/inbox-bullmq-engine.js";
import { describeEngine } from "../support/inbox/inbox-engine.js";
import { alarmDelivery, inboxReceiver } from "../support/inbox/inbox-receiver.js";
import {
  hasRedisServer,
  startRedisServer,
  type RedisServer,
} from "../support/redis/redis-server.js";

describeEngine("a worker of BullMQ", hasRedisServer, () => {
  let server: RedisServer;

  beforeAll(async () => {
    server = await startRedisServer();
  });
  afterAll(() => server.close());

  it("runs a job that comes when it is already being stopped, with the signal aborted", async () => {
    const { queue, enqueue, completed } = await openBullmqQueue(server.url, "last");
    await inboxReceiver(enqueue).receive(await alarmDelivery(1));
    const taken = deferred();
    const release = deferred();
    const reasons: unknown[] = [];
    const Slow = new Proxy(Worker, {
      construct(target, [queue, process, options]: ConstructorParameters<typeof Worker>) {
        const late = async (job: Job): Promise<unknown> => {
          taken.resolve();
          await release.promise;
          return typeof process === "function" ? process(job) : undefined;
        };
        return new target(queue, late, options);
      },
    });
    const stop = bullmqConsume({
      Worker: Slow,
      queue: "last",
      workerOptions: { connection: { port: server.port } },
      handlers: { new_alarm: (_, { signal }) => reasons.push(signal.reason) },
      logger: false,
    });
    await taken.promise;
    const stopped = stop();
    release.resolve();
    await stopped;
    expect(reasons).toEqual([new WorkerStoppingError()]);
    expect(await completed()).toBe(1);
    await queue.close();
  });
});
