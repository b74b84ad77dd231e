import { Queue } from "bullmq";
import { Redis } from "ioredis";
import { startRedisServer } from "../../support/redis/redis-server.js";
import type { Setup } from "../plan/mode.js";
import { QUEUE } from "../receivers/receiver-config.js";
import { crashingStore, type StoreContent, type StoreServer } from "./store-server.js";

/** The run's own Redis. It writes to disk before it answers. */
export async function openRedis(setup: Setup): Promise<StoreServer> {
  const server = await startRedisServer({ appendonly: "yes", appendfsync: "always" });
  return crashingStore(server, server.kill, {
    read: () => (setup === "inbox-bullmq" ? readQueue(server.port) : readKeys(server.port)),
    close: server.close,
  });
}

/** The ids that the store knows. A worker's begin with `job.`. */
async function readKeys(port: number): Promise<StoreContent> {
  const client = new Redis(port, { maxRetriesPerRequest: 1 });
  client.on("error", () => undefined);
  try {
    const keys = await client.keys("gateway-deliveries:*");
    return { storedIds: keys.map((key) => key.replace(/^.*\{(?:job\.)?|\}$/g, "")) };
  } finally {
    client.disconnect();
  }
}

/** Adds the jobs of the queue. A job that is done is gone. */
async function readQueue(port: number): Promise<StoreContent> {
  const { storedIds } = await readKeys(port);
  const queue = new Queue(QUEUE, { connection: { host: "127.0.0.1", port } });
  queue.on("error", () => undefined);
  try {
    const jobs = await queue.getJobs(["active", "waiting", "delayed", "failed", "prioritized"]);
    const unfinishedIds = jobs.map((job) => (job.data as { readonly id: string }).id);
    return { storedIds: [...storedIds, ...unfinishedIds], unfinishedIds };
  } finally {
    await queue.close();
  }
}
