import { redisStore } from "identity-gateway-webhooks/redis";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { startRedisServer } from "../../../test/support/redis/redis-server.js";
import { AT_A_TIME, RETENTION_MS, type Engine } from "./engine.js";

/** Each write is on disk before the answer, as with the other engines. */
const DURABLE = { appendonly: "yes", appendfsync: "always" };

const RAW = { raw: "`SET NX PX`", atATime: AT_A_TIME };
const rawCommand = (key: string) => ["SET", key, "owner", "NX", "PX", String(RETENTION_MS)];

/** Redis through node-redis. */
export async function throughNodeRedis(): Promise<Engine> {
  const server = await startRedisServer(DURABLE);
  const client = await createClient({ url: server.url }).connect();
  return {
    ...RAW,
    name: "Redis, node-redis",
    store: redisStore({ client }),
    async rawWrite(key) {
      const reply: unknown = await client.sendCommand(rawCommand(key));
      return reply === "OK";
    },
    empty: () => client.flushAll(),
    bytes: async () => usedMemory(await client.info("memory")),
    async close() {
      await client.close();
      await server.close();
    },
  };
}

/** Redis through ioredis. */
export async function throughIoredis(): Promise<Engine> {
  const server = await startRedisServer(DURABLE);
  const client = new Redis(server.port, "127.0.0.1");
  return {
    ...RAW,
    name: "Redis, ioredis",
    store: redisStore({ client }),
    rawWrite: async (key) => (await client.set(key, "owner", "PX", RETENTION_MS, "NX")) === "OK",
    empty: () => client.flushall(),
    bytes: async () => usedMemory(await client.info("memory")),
    async close() {
      await client.quit();
      await server.close();
    },
  };
}

function usedMemory(info: string): number {
  return Number(/used_memory:(\d+)/.exec(info)?.[1]);
}
