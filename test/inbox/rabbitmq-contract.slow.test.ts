import amqplib, { type ChannelModel } from "amqplib";
import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import { it } from "vitest";
import { queueDriverContract } from "../../kit/index.js";
import type { InboxJob } from "../../src/inbox/index.js";
import { rabbitmqQueue } from "../../src/inbox/rabbitmq/index.js";
import { growsToAStrangeJob, warnsOfNoListeners } from "../support/inbox/broker-cases.js";
import { describeRabbitmq } from "../support/inbox/inbox-engines.js";
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
