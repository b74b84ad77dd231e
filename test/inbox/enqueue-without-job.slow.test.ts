// An engine may resolve a write although it made no job. Acknowledged then, the delivery would be lost.
import { Queue, type JobsOptions } from "bullmq";
import { afterEach, expect, it } from "vitest";
import { bullmqQueue } from "../../src/inbox/bullmq/index.js";
import { pgBossQueue } from "../../src/inbox/pg-boss/index.js";
import { describeOnBullmq, describeOnPgBoss } from "../support/inbox/inbox-engines.js";
import { alarmDelivery, inboxReceiver } from "../support/inbox/receiver-and-worker.js";

describeOnBullmq("BullMQ that deduplicates", (engine) => {
  let queue: Queue;

  const open = (name: string, defaultJobOptions: JobsOptions = {}): void => {
    queue = new Queue(name, { connection: engine().connection, defaultJobOptions });
  };

  afterEach(() => queue.close());

  it.each<[string, JobsOptions]>([
    ["one-of-all", { deduplication: { id: "alarms", ttl: 60_000 } }],
    ["the-last-of-all", { deduplication: { id: "alarms", replace: true }, delay: 60_000 }],
  ])(
    "each delivery becomes a job although the queue's default deduplication is %s",
    async (name, defaults) => {
      open(name, defaults);
      const receiver = inboxReceiver(bullmqQueue({ queue }));
      expect((await receiver.receive(await alarmDelivery(1))).status).toBe(200);
      expect((await receiver.receive(await alarmDelivery(2))).status).toBe(200);
      expect(await queue.count()).toBe(2);
    },
  );

  it("a receiver answers 500 if BullMQ returns another job", async () => {
    open("wrapped");
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
});

describeOnPgBoss("pg-boss that makes no job", (engine) => {
  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["no job", { rows: [] }],
    ["the id of another job", { rows: [{ id: "3f2504e0-4f89-41d3-9a0c-0305e82c3301" }] }],
  ])("a receiver answers 500 if the database of pg-boss resolves to %s", async (_, answer) => {
    const wrapped = {
      createQueue: engine().boss.createQueue.bind(engine().boss),
      fetch: engine().boss.fetch.bind(engine().boss),
      getDb: () => ({ executeSql: () => Promise.resolve(answer as { rows: unknown[] }) }),
    };
    const receiver = inboxReceiver(pgBossQueue({ boss: wrapped, queueName: "nowhere" }));
    expect((await receiver.receive(await alarmDelivery(1))).status).toBe(500);
  });
});
