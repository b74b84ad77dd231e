import { Queue } from "bullmq";
import { Redis } from "ioredis";
import { setTimeout as wait } from "node:timers/promises";
import { startRedisServer } from "../../support/redis/redis-server.js";
import type { Setup } from "../plan/mode.js";
import { QUEUE } from "../receivers/receiver-config.js";
import type { StoreContent, StoreServer } from "./store-server.js";

/** The run's own Redis. It writes to disk before it answers. */
export async function openRedis(setup: Setup): Promise<StoreServer> {
  const server = await startRedisServer({ appendonly: "yes", appendfsync: "always" });
  let isClosed = false;
  return {
    port: server.port,
    async restart(downMs) {
      await server.kill();
      await wait(downMs);
      if (!isClosed) await server.start();
    },
    lock: () => Promise.resolve(),
    lockRows: () => Promise.resolve(),
    mostConnections: () => undefined,
    read: () => (setup === "inbox-bullmq" ? readJobs(server.port) : readKeys(server.port)),
    close() {
      isClosed = true;
      return server.close();
    },
  };
}

async function readKeys(port: number): Promise<StoreContent> {
  const client = new Redis(port, { maxRetriesPerRequest: 1 });
  client.on("error", () => undefined);
  try {
    const keys = await client.keys("*");
    return { storedIds: keys.map((key) => key.slice(key.lastIndexOf(":") + 1)) };
  } finally {
    client.disconnect();
  }
}

async function readJobs(port: number): Promise<StoreContent> {
  const queue = new Queue(QUEUE, { connection: { host: "127.0.0.1", port } });
  queue.on("error", () => undefined);
  try {
    const completed = await queue.getJobs(["completed"]);
    const open = await queue.getJobs(["active", "waiting", "delayed", "failed", "prioritized"]);
    const idOf = ({ data }: { data: unknown }): string => {
      const { id } = Object(data) as { id?: unknown };
      return typeof id === "string" ? id : "no id";
    };
    const exactIds = [...completed, ...open].map(idOf);
    return { storedIds: exactIds, exactIds, unfinishedIds: open.map(idOf) };
  } finally {
    await queue.close();
  }
}
