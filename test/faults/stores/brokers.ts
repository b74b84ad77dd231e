import { jetstream } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import amqplib from "amqplib";
import { startNatsServer } from "../../support/nats/nats-server.js";
import { startRabbitmq } from "../../support/rabbitmq/rabbitmq-server.js";
import { QUEUE } from "../receivers/receiver-config.js";
import { openSqlite } from "./sqlite.js";
import { crashingStore, type StoreServer } from "./store-server.js";

interface BrokerJobs {
  readonly waiting: readonly string[];
  readonly dead: readonly string[];
}

/** The run's own broker, beside a file with the store of the workers. `jobs` names the jobs that it has. */
function openBroker(
  server: Awaited<ReturnType<typeof startNatsServer | typeof startRabbitmq>>,
  jobs: (url: string) => Promise<BrokerJobs>,
  file: string,
): StoreServer {
  const { claimedIds, ...store } = openSqlite("inbox-nats", file);
  return crashingStore(server, server.kill, {
    async read() {
      const { waiting, dead } = await jobs(server.url);
      const idOf = (key: string) => key.replace(/^job#/, "");
      const storedIds = (await store.read()).storedIds.map(idOf);
      // The claim of a worker that its job has killed stays.
      const claimed = claimedIds().map(idOf);
      // A job whose run has a claim is no longer among those that wait.
      return {
        storedIds: [...storedIds, ...waiting, ...dead],
        unfinishedIds: [...waiting, ...claimed.filter((id) => !dead.includes(id))],
        deadIds: dead,
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

async function natsJobs(url: string): Promise<BrokerJobs> {
  const connection = await connect({ servers: url });
  try {
    const { streams, consumers } = await jetstream(connection).jetstreamManager();
    // After a crash, NATS 2.9 still has messages whose acknowledgement it has confirmed. No worker gets them again.
    const consumer = await consumers.info(QUEUE, "workers").catch(() => undefined);
    const idsIn = async (stream: string, from: number): Promise<readonly string[]> => {
      const ids: string[] = [];
      for (let seq = from; ; seq += 1) {
        const query = { seq, next_by_subj: `${stream}.>` };
        const message = await streams.getMessage(stream, query);
        if (message === null) return ids;
        ids.push(message.json<{ readonly id: string }>().id);
        ({ seq } = message);
      }
    };
    return {
      waiting: await idsIn(QUEUE, (consumer?.ack_floor.stream_seq ?? 0) + 1),
      // Its stream does not exist before the first worker.
      dead: await idsIn(`${QUEUE}-dead`, 1).catch(() => []),
    };
  } finally {
    await connection.close();
  }
}

/** The delays of retries that a run can need. */
const DELAYS_MS = [1, 2, 4, 8, 16, 32].flatMap((doubling) =>
  [1_000, 1_250, 1_500, 1_750].map((ms) => doubling * ms),
);

/** RabbitMQ tells how many jobs wait, but not which. The dead ones are taken and given back. */
async function rabbitmqJobs(url: string): Promise<BrokerJobs> {
  const connection = await amqplib.connect(url);
  const waiting: string[] = [];
  const dead: string[] = [];
  try {
    for (const queue of [QUEUE, ...DELAYS_MS.map((ms) => `${QUEUE}.retry.${ms}`)]) {
      const channel = await connection.createChannel();
      channel.on("error", () => undefined);
      // A queue that no retry has needed yet does not exist.
      const { messageCount } = await channel.checkQueue(queue).catch(() => ({ messageCount: 0 }));
      waiting.push(...Array.from({ length: messageCount }, () => `in ${queue}`));
    }
    const channel = await connection.createChannel();
    const take = () => channel.get(`${QUEUE}.dead`);
    for (let message = await take(); message !== false; message = await take()) {
      dead.push((JSON.parse(message.content.toString()) as { readonly id: string }).id);
    }
    await channel.close();
    return { waiting, dead };
  } finally {
    await connection.close();
  }
}
