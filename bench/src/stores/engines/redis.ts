import { Redis } from "ioredis";
import { randomUUID } from "node:crypto";
import { startRedisServer } from "../../../../test/support/redis/redis-server.js";
import type { Engine } from "./engine.js";

const WEEK_MS = 604_800_000;
/** How many keys a script writes: other clients wait for its end. */
const AT_ONCE = 100_000;
const REMEMBER = `for i = 1, ARGV[2] do
  redis.call('SET', 'gateway-deliveries:1:{' .. ARGV[1] .. string.format('%012d', i) .. '}', '1', 'PX', ARGV[3])
end`;

/** Redis, which syncs each write to the disk before it answers, and evicts nothing. */
export async function startRedisEngine(): Promise<Engine> {
  const server = await startRedisServer({
    appendonly: "yes",
    appendfsync: "always",
    "maxmemory-policy": "noeviction",
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
    async remember(database, count) {
      const client = new Redis(server.port, "127.0.0.1", { db: Number(database) });
      for (let written = 0; written < count; written += AT_ONCE) {
        const size = Math.min(AT_ONCE, count - written);
        await client.eval(REMEMBER, 0, randomUUID().slice(0, 24), size, WEEK_MS);
      }
      client.disconnect();
    },
    close: server.close,
  };
}
