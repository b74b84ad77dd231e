import amqplib, { type ChannelModel } from "amqplib";
import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import { expect, it } from "vitest";
import { rabbitmqQueue } from "../../src/inbox/rabbitmq/index.js";
import { describeRabbitmq } from "../support/inbox/inbox-engines.js";
import { keepsContract } from "../support/inbox/queue-matrix.js";
import { alarmJob, watchWorker, failingWorker } from "../support/inbox/receiver-and-worker.js";
import { startRabbitmq } from "../support/rabbitmq/rabbitmq-server.js";
import { startedForAll } from "../support/started-for-all.js";

describeRabbitmq("RabbitMQ", () => {
  const server = startedForAll(startRabbitmq);
  keepsContract(
    "RabbitMQ",
    () => {
      const queueName = randomUUID();
      const newClient = () => {
        const connections: ChannelModel[] = [];
        let isKilled = false;
        const connect = async (): Promise<ChannelModel> => {
          if (isKilled) throw new Error("killed");
          const connection = await amqplib.connect(server().url);
          connections.push(connection);
          return connection;
        };
        const kill = () => {
          isKilled = true;
          for (const { connection } of connections) {
            (connection as unknown as { stream: Socket }).stream.destroy(new Error("killed"));
          }
        };
        return { driver: rabbitmqQueue({ connect, queueName }), kill };
      };
      const { driver, kill } = newClient();
      const { driver: other } = newClient();
      return {
        driver,
        otherClient: other,
        kill,
        newClient,
        async putStrange() {
          const connection = await amqplib.connect(server().url);
          const channel = await connection.createConfirmChannel();
          const strange = [
            { headers: { attempt: "x", enqueuedAt: "x", "x-delivery-count": "x" } },
            { headers: { attempt: -1e9, enqueuedAt: -1 } },
            { headers: { attempt: 1e300, enqueuedAt: 1e300 }, messageId: "\u001b[2J" },
            { headers: { attempt: null } },
            {},
          ];
          for (const [n, options] of strange.entries()) {
            channel.sendToQueue(queueName, Buffer.alloc(n + 1, 0xff), options);
          }
          await channel.waitForConfirms();
          await connection.close();
          return strange.length;
        },
        async dump() {
          const connection = await amqplib.connect(server().url);
          const channel = await connection.createChannel();
          const found: Buffer[] = [];
          for (const queue of [queueName, `${queueName}.dead`]) {
            let message = await channel.get(queue);
            for (; message !== false; message = await channel.get(queue))
              found.push(message.content);
          }
          // They go back into their queues.
          await connection.close();
          return Buffer.concat(found);
        },
        async close() {
          await Promise.all([driver.close(), other.close()]);
        },
      };
    },
    ["lists dead jobs", "shows its messages"],
  );

  /** A driver whose messages RabbitMQ refuses into the queues that `isRefused` names. */
  const refusing = (isRefused: (queue: string) => boolean) =>
    rabbitmqQueue({
      queueName: randomUUID(),
      async connect() {
        const connection = await amqplib.connect(server().url);
        const create = connection.createConfirmChannel.bind(connection);
        const createConfirmChannel = async () => {
          const channel = await create();
          const publish = channel.publish.bind(channel);
          channel.publish = (...given) => {
            if (!isRefused(given[1])) return publish(...given);
            given[4]?.(new Error("message nacked"), {});
            return true;
          };
          return channel;
        };
        return Object.assign(connection, { createConfirmChannel });
      },
    });

  it.each([
    ["is put again", 4, undefined],
    [
      "is an error after the fifth time",
      5,
      "RabbitMQ did not take the message: Error: message nacked",
    ],
  ])("a job that RabbitMQ refuses %s", async (_, refusals, message) => {
    let left = refusals;
    const driver = refusing(() => left-- > 0);
    const putting = driver.put(await alarmJob(), undefined);
    await (message === undefined ? putting : expect(putting).rejects.toThrow(message));
    expect((await driver.waiting?.())?.count).toBe(message === undefined ? 1 : 0);
    await driver.close();
  });

  it("a dead job that RabbitMQ refuses is written later, and holds up no other job", async () => {
    let isFull = true;
    const driver = refusing((queue) => isFull && queue.endsWith(".dead"));
    const seen: string[] = [];
    const { stop } = watchWorker(
      driver,
      (_, { id }) => {
        seen.push(id);
        if (id === "a") throw new Error("x");
      },
      { concurrency: 1, retryLimit: 0 },
    );
    await driver.put(await alarmJob("a"), undefined);
    await driver.put(await alarmJob("b"), undefined);
    await setTimeout(2_000);
    expect(seen).toEqual(["a"]);
    isFull = false;
    await expect.poll(() => seen).toEqual(["a", "b"]);
    expect((await driver.list()).map(({ id }) => id)).toEqual(["a"]);
    await stop();
    await driver.close();
  });

  it("deleted queues are made anew, and no result is lost with them", async () => {
    const queueName = randomUUID();
    const driver = rabbitmqQueue({ connect: () => amqplib.connect(server().url), queueName });
    const admin = await amqplib.connect(server().url);
    const channel = await admin.createChannel();
    const { stop } = watchWorker(
      driver,
      async () => {
        await channel.deleteQueue(`${queueName}.dead`);
        throw new Error("x");
      },
      { retryLimit: 0 },
    );
    await driver.put(await alarmJob("a"), undefined);
    const dead = async () => (await driver.list().catch(() => [])).map(({ id }) => id);
    await expect.poll(dead).toEqual(["a"]);
    await stop();
    await channel.deleteQueue(queueName);
    const job = await alarmJob("b");
    await expect(driver.put(job, undefined)).rejects.toThrow("RabbitMQ has no such queue");
    await expect.poll(() => driver.put(job, undefined)).toBeUndefined();
    await driver.close();
    await admin.close();
  });

  it("a refused replay gives back every dead job that it looked at", async () => {
    let isFull = false;
    const driver = refusing(() => isFull);
    const { stop } = failingWorker(driver);
    for (const id of ["a", "b", "c"]) await driver.put(await alarmJob(id), undefined);
    const dead = async () => (await driver.list()).map(({ id }) => id).sort();
    await expect.poll(dead).toEqual(["a", "b", "c"]);
    await stop();
    isFull = true;
    await expect(driver.replay(["b"])).rejects.toThrow("RabbitMQ did not take the message");
    isFull = false;
    expect(await dead()).toEqual(["a", "b", "c"]);
    expect(await driver.replay(["b"])).toEqual({ replayed: ["b"], notFound: [] });
    await driver.close();
  });
});
