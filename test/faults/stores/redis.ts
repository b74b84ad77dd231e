import { setTimeout as wait } from "node:timers/promises";
import { Queue } from "bullmq";
import { Redis } from "ioredis";
import { startRedisServer } from "../../support/redis/redis-server.js";
import type { Mode } from "../plan/mode.js";
import { QUEUE } from "../receivers/receiver-config.js";
import { crashingStore, type StoreContent, type StoreServer } from "./store-server.js";

const DURABLE = { appendonly: "yes", appendfsync: "always" };

/** The run's own Redis, with a replica if the mode has a failover. It writes to disk before it answers. */
export async function openRedis({ setup, faults }: Mode): Promise<StoreServer> {
  const server = await startRedisServer(DURABLE);
  const { port } = server;
  const replica =
    faults.failovers > 0
      ? await startRedisServer({ ...DURABLE, replicaof: `127.0.0.1 ${port}` })
      : undefined;
  let current = port;
  if (replica !== undefined) await withClient(replica.port, inSync);
  return crashingStore(server, server.kill, {
    read: () => (setup === "inbox-bullmq" ? readQueue(current) : readKeys(current)),
    async freeze(ms) {
      server.pause();
      await wait(ms);
      server.resume();
    },
    fill: (ms) =>
      withClient(port, async (client) => {
        await client.config("SET", "maxmemory", "1");
        await wait(ms);
        await client.config("SET", "maxmemory", "0");
      }),
    async failOver(ms) {
      if (replica === undefined) throw new Error("this mode has no replica");
      await withClient(replica.port, (client) => client.replicaof("NO", "ONE"));
      await wait(ms);
      await server.kill();
      current = replica.port;
      return { port: current, isComplete: false };
    },
    async close() {
      await replica?.close();
      await server.close();
    },
  });
}

async function inSync(replica: Redis): Promise<void> {
  while (!(await replica.info("replication")).includes("master_link_status:up")) await wait(20);
}

async function withClient<T>(port: number, use: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(port, { maxRetriesPerRequest: 1 });
  client.on("error", () => undefined);
  try {
    return await use(client);
  } finally {
    client.disconnect();
  }
}

/** The ids that the store knows. A worker's begin with `job#`. */
function readKeys(port: number): Promise<StoreContent> {
  return withClient(port, async (client) => {
    const keys = await client.keys("gateway-deliveries:*");
    return { storedIds: keys.map((key) => key.replace(/^.*\{(?:job#)?|\}$/g, "")) };
  });
}

/** Adds the jobs of the queue. A job that is done is gone. */
async function readQueue(port: number): Promise<StoreContent> {
  const { storedIds } = await readKeys(port);
  const queue = new Queue(QUEUE, { connection: { host: "127.0.0.1", port } });
  queue.on("error", () => undefined);
  try {
    const jobs = await queue.getJobs(["active", "waiting", "delayed", "failed", "prioritized"]);
    const idsOf = (isDead: boolean): string[] =>
      jobs
        .filter(({ finishedOn }) => (finishedOn !== undefined) === isDead)
        .map(({ data }) => (data as { readonly id: string }).id);
    const unfinishedIds = idsOf(false);
    const deadIds = idsOf(true);
    return { storedIds: [...storedIds, ...unfinishedIds, ...deadIds], unfinishedIds, deadIds };
  } finally {
    await queue.close();
  }
}
