import { jetstream } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import amqplib from "amqplib";
import { startNatsServer } from "../../support/nats/nats-server.js";
import { startRabbitmq } from "../../support/rabbitmq/rabbitmq-server.js";
import { QUEUE } from "../receivers/receiver-config.js";
import { openSqlite } from "./sqlite.js";
import { crashingStore, type StoreServer } from "./store-server.js";

/** The run's own broker, beside a file with the store of the workers. `unfinished` names the jobs that it has. */
function openBroker(
  server: Awaited<ReturnType<typeof startNatsServer | typeof startRabbitmq>>,
  unfinished: (url: string) => Promise<readonly string[]>,
  file: string,
): StoreServer {
  const { claimedIds, ...store } = openSqlite("inbox-nats", file);
  return crashingStore(server, server.kill, {
    async read() {
      const waiting = await unfinished(server.url);
      const storedIds = (await store.read()).storedIds.map((key) => key.replace(/^job\./, ""));
      // A job whose run has a claim is no longer among those that wait.
      return {
        storedIds: [...storedIds, ...waiting],
        unfinishedIds: [...waiting, ...claimedIds()],
      };
    },
    async close() {
      await server.close();
      await store.close();
    },
  });
}

export async function openNats(file: string): Promise<StoreServer> {
  return openBroker(await startNatsServer(), natsJobs, file);
}

export async function openRabbitmq(file: string): Promise<StoreServer> {
  return openBroker(await startRabbitmq(), rabbitmqJobs, file);
}

async function natsJobs(url: string): Promise<readonly string[]> {
  const connection = await connect({ servers: url });
  try {
    const { streams, consumers } = await jetstream(connection).jetstreamManager();
    // After a crash, NATS 2.9 still has messages whose acknowledgement it has confirmed. No worker gets them again.
    const consumer = await consumers.info(QUEUE, "workers").catch(() => undefined);
    const ids: string[] = [];
    for (let seq = (consumer?.ack_floor.stream_seq ?? 0) + 1; ; seq += 1) {
      const query = { seq, next_by_subj: `${QUEUE}.>` };
      const message = await streams.getMessage(QUEUE, query);
      if (message === null) return ids;
      ids.push(message.json<{ readonly id: string }>().id);
      ({ seq } = message);
    }
  } finally {
    await connection.close();
  }
}

/** The delays of retries that a run can need. */
const DELAYS_MS = [1, 2, 4, 8, 16, 32].flatMap((doubling) =>
  [1_000, 1_250, 1_500, 1_750].map((ms) => doubling * ms),
);

/** RabbitMQ tells how many jobs wait, but not which. */
async function rabbitmqJobs(url: string): Promise<readonly string[]> {
  const connection = await amqplib.connect(url);
  const ids: string[] = [];
  try {
    for (const queue of [QUEUE, ...DELAYS_MS.map((ms) => `${QUEUE}.retry.${ms}`)]) {
      const channel = await connection.createChannel();
      channel.on("error", () => undefined);
      // A queue that no retry has needed yet does not exist.
      const { messageCount } = await channel.checkQueue(queue).catch(() => ({ messageCount: 0 }));
      ids.push(...Array.from({ length: messageCount }, () => `in ${queue}`));
    }
    return ids;
  } finally {
    await connection.close();
  }
}
