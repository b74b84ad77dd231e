import amqplib, { type ChannelModel } from "amqplib";
import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import { expect, it } from "vitest";
import { queueDriverContract } from "../../kit/index.js";
import type { InboxJob } from "../../src/inbox/index.js";
import { rabbitmqQueue } from "../../src/inbox/rabbitmq/index.js";
import { growsToAStrangeJob, warnsOfNoListeners } from "../support/inbox/broker-cases.js";
import { describeRabbitmq } from "../support/inbox/inbox-engines.js";
import { alarmJob } from "../support/inbox/receiver-and-worker.js";
import { startRabbitmq } from "../support/rabbitmq/rabbitmq-server.js";
import { startedForAll } from "../support/started-for-all.js";

describeRabbitmq("RabbitMQ", () => {
  const server = startedForAll(startRabbitmq);
  const cases = queueDriverContract(() => {
    const queueName = randomUUID();
    const connections: ChannelModel[] = [];
    let isKilled = false;
    const connect = async (): Promise<ChannelModel> => {
      if (isKilled) throw new Error("killed");
      const connection = await amqplib.connect(server().url);
      connections.push(connection);
      return connection;
    };
    const driver = rabbitmqQueue({ connect, queueName });
    const other = rabbitmqQueue({ connect: () => amqplib.connect(server().url), queueName });
    return {
      driver,
      otherClient: other,
      kill() {
        isKilled = true;
        for (const { connection } of connections) {
          (connection as unknown as { stream: Socket }).stream.destroy(new Error("killed"));
        }
      },
      async close() {
        await Promise.all([driver.close(), other.close()]);
      },
    };
  });

  it.each(cases.map((one) => [one.title, one] as const))(
    "RabbitMQ keeps the contract: %s",
    async (_, { run }) => {
      await run();
    },
  );

  const open = () =>
    rabbitmqQueue({ connect: () => amqplib.connect(server().url), queueName: randomUUID() });

  it.each([
    ["is put again", 4, undefined],
    [
      "is an error after the fifth time",
      5,
      "RabbitMQ did not take the message: Error: message nacked",
    ],
  ])("a job that RabbitMQ refuses %s", async (_, refusals, message) => {
    let left = refusals;
    const driver = rabbitmqQueue({
      queueName: randomUUID(),
      async connect() {
        const connection = await amqplib.connect(server().url);
        const create = connection.createConfirmChannel.bind(connection);
        const createConfirmChannel = async () => {
          const channel = await create();
          const publish = channel.publish.bind(channel);
          channel.publish = (...given) => {
            left -= 1;
            if (left < 0) return publish(...given);
            given[4]?.(new Error("message nacked"), {});
            return true;
          };
          return channel;
        };
        return Object.assign(connection, { createConfirmChannel });
      },
    });
    const putting = driver.put(await alarmJob(), undefined);
    await (message === undefined ? putting : expect(putting).rejects.toThrow(message));
    expect((await driver.waiting?.())?.count).toBe(message === undefined ? 1 : 0);
    await driver.close();
  });

  it("a RabbitMQ worker of 30 jobs at once makes Node warn of no leak", async () => {
    const driver = open();
    await warnsOfNoListeners(driver);
    await driver.close();
  });

  it("a growing replay on RabbitMQ stops at a job that the inbox did not make", async () => {
    const driver = open();
    await growsToAStrangeJob(driver, (job) => driver.put(job as InboxJob, undefined));
    await driver.close();
  });
});
