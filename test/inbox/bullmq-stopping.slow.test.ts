import { Worker, type Job } from "bullmq";
import { afterAll, beforeAll, expect, it } from "vitest";
import { bullmqConsume } from "../../src/inbox/bullmq/index.js";
import { deferred } from "../support/deferred.js";
import { openBullmqQueue } from "../support/inbox/inbox-bullmq-engine.js";
import { describeBullmq } from "../support/inbox/inbox-engines.js";
import { alarmDelivery, inboxReceiver } from "../support/inbox/receiver-and-worker.js";
import { startRedisServer, type RedisServer } from "../support/redis/redis-server.js";

describeBullmq("BullMQ", () => {
  let server: RedisServer;

  beforeAll(async () => {
    server = await startRedisServer();
  });
  afterAll(() => server.close());

  it("a BullMQ job that starts while its worker is stopping runs with an aborted signal", async () => {
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
      queueName: "last",
      workerOptions: { connection: { port: server.port } },
      handlers: { new_alarm: (_, { signal }) => reasons.push(signal.reason) },
      logger: false,
    });
    await taken.promise;
    const stopped = stop();
    release.resolve();
    await stopped;
    expect(reasons).toEqual([expect.objectContaining({ code: "worker_stopping" })]);
    expect(await completed()).toBe(1);
    await queue.close();
  });
});
