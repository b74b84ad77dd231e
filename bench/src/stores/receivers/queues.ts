import { jetstream } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import amqplib from "amqplib";
import { Queue } from "bullmq";
import { PgBoss } from "pg-boss";
import type * as bullmqInbox from "identity-gateway-webhooks/bullmq";
import type * as inboxes from "identity-gateway-webhooks/inbox";
import type * as nats from "identity-gateway-webhooks/nats";
import type * as pgBossInbox from "identity-gateway-webhooks/pg-boss";
import type * as rabbitmq from "identity-gateway-webhooks/rabbitmq";
import { POOL_SIZE } from "../engines/engine.js";
import { QUEUED, type Contenders } from "./contender.js";

// Each inbox beside the call of the engine's own client that waits until the job is stored. Its id is given to the
// engine where it takes one, so that both find a redelivery.

export const besideSend: Contenders = {
  async ours(load, { port, database }) {
    const { inbox } = await load<typeof inboxes>("inbox");
    const { pgBossQueue } = await load<typeof pgBossInbox>("pg-boss");
    const boss = new PgBoss({
      connectionString: `postgres://postgres@127.0.0.1:${port}/${database}`,
      max: POOL_SIZE,
    });
    boss.on("error", () => undefined);
    await boss.start();
    return { newAlarm: inbox({ driver: pgBossQueue({ boss }) }).new_alarm };
  },
  async byHand({ port, database }) {
    const connectionString = `postgres://postgres@127.0.0.1:${port}/${database}`;
    const boss = new PgBoss({ connectionString, max: POOL_SIZE });
    boss.on("error", () => undefined);
    await boss.start();
    await boss.createQueue("jobs");
    return async (id, type, body) =>
      (await boss.send("jobs", { type, body: body.toString() }, { id })) === null
        ? undefined
        : QUEUED;
  },
};

export const besideAdd: Contenders = {
  async ours(load, { port, database }) {
    const { inbox } = await load<typeof inboxes>("inbox");
    const { bullmqQueue } = await load<typeof bullmqInbox>("bullmq");
    const connection = { host: "127.0.0.1", port, db: Number(database) };
    const queue = new Queue("gateway-deliveries", { connection });
    queue.on("error", () => undefined);
    await queue.waitUntilReady();
    return { newAlarm: inbox({ driver: bullmqQueue({ queue }) }).new_alarm };
  },
  async byHand({ port, database }) {
    const queue = new Queue("jobs", { connection: { port, db: Number(database) } });
    queue.on("error", () => undefined);
    await queue.waitUntilReady();
    return async (id, type, body) => {
      await queue.add(type, { body: body.toString() }, { jobId: id });
      return QUEUED;
    };
  },
};

export const besidePublish: Contenders = {
  async ours(load, { port, database: queueName }) {
    const { inbox } = await load<typeof inboxes>("inbox");
    const { natsQueue } = await load<typeof nats>("nats");
    const connection = await connect({ port });
    const driver = natsQueue({ connection, jetstream: jetstream(connection), queueName });
    return { newAlarm: inbox({ driver }).new_alarm };
  },
  async byHand({ port, database: name }) {
    const client = jetstream(await connect({ port }));
    const { streams } = await client.jetstreamManager();
    await streams.add({ name, subjects: [`${name}.>`], retention: "workqueue" });
    return async (id, type, body) => {
      const data = JSON.stringify({ type, body: body.toString() });
      const { duplicate } = await client.publish(`${name}.job`, data, { msgID: id });
      return duplicate ? undefined : QUEUED;
    };
  },
};

export const besideConfirmChannel: Contenders = {
  async ours(load, { port, database: queueName }) {
    const { inbox } = await load<typeof inboxes>("inbox");
    const { rabbitmqQueue } = await load<typeof rabbitmq>("rabbitmq");
    const driver = rabbitmqQueue({ connect: () => amqplib.connect({ port }), queueName });
    return { newAlarm: inbox({ driver }).new_alarm };
  },
  async byHand({ port, database: name }) {
    const channel = await (await amqplib.connect({ port })).createConfirmChannel();
    await channel.assertQueue(name, { durable: true, arguments: { "x-queue-type": "quorum" } });
    return (id, type, body) =>
      new Promise((resolve, reject) => {
        const options = { persistent: true, messageId: id, type };
        channel.sendToQueue(name, body, options, (error: unknown) => {
          if (error === null || error === undefined) resolve(QUEUED);
          else reject(new Error("RabbitMQ did not take the message", { cause: error }));
        });
      });
  },
};
