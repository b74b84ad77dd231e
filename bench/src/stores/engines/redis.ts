import { Redis } from "ioredis";
import { startRedisServer } from "../../../../test/support/redis/redis-server.js";
import type { Engine } from "./engine.js";

/** Redis, which syncs each write to the disk before it answers, and evicts nothing. */
export async function startRedisEngine(): Promise<Engine> {
  const server = await startRedisServer({
    ...{ appendonly: "yes", appendfsync: "always", "maxmemory-policy": "noeviction" },
  });
  return {
    port: server.port,
    folder: "",
    databaseOf: String,
    syncs: undefined,
    async bytes() {
      const client = new Redis(server.port, "127.0.0.1");
      const info = await client.info("memory");
      client.disconnect();
      return Number(/used_memory:(\d+)/.exec(info)?.[1]);
    },
    close: server.close,
  };
}
