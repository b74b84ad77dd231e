// An engine may resolve a write although it made no job. Acknowledged then, the delivery would be lost.
import { Queue, type JobsOptions } from "bullmq";
import { afterEach, expect, it, test } from "vitest";
import { bullmqQueue } from "../../src/inbox/bullmq/index.js";
import { pgBossQueue } from "../../src/inbox/pg-boss/index.js";
import { describeOnBullmq } from "../support/inbox/inbox-engines.js";
import { pgBossStub } from "../support/inbox/pg-boss-stub.js";
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

test.each([
  ["nothing", undefined],
  ["no job", null],
])("a receiver answers 500 if pg-boss resolves to %s", async (_, answer) => {
  const boss = pgBossStub({ send: () => Promise.resolve(answer as null) });
  const receiver = inboxReceiver(pgBossQueue({ boss }));
  expect((await receiver.receive(await alarmDelivery(1))).status).toBe(500);
});
