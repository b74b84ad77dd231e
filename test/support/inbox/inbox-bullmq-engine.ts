import { Queue, Worker } from "bullmq";
import { Redis } from "ioredis";
import {
  bullmqConsume,
  bullmqEnqueue,
  bullmqDeadDeliveries,
} from "../../../src/inbox/bullmq/index.js";
import type { RetryOptions } from "../../../src/inbox/queue-options.js";
import type { InboxEngine, InboxQueue } from "./inbox-engine.js";
import { startRedisServer, type RedisServer } from "../redis/redis-server.js";

/** Locks short enough for a test, and long enough for a worker on a busy machine. */
const SHORT_LOCKS = { lockDuration: 5_000, stalledInterval: 500, drainDelay: 1 };

/** A queue of BullMQ, and how to close it. */
export interface OpenBullmqQueue extends InboxQueue {
  readonly queue: Queue;
}

/** Opens a queue that fails fast when its Redis is away. */
export async function openBullmqQueue(
  url: string,
  name: string,
  retries: RetryOptions = {},
): Promise<OpenBullmqQueue> {
  const connection = { host: "127.0.0.1", port: Number(new URL(url).port) };
  const queue = new Queue(name, { connection: { ...connection, enableOfflineQueue: false } });
  queue.on("error", () => undefined);
  await queue.waitUntilReady();
  return {
    queue,
    deadDeliveries: bullmqDeadDeliveries({ queue }),
    enqueue: bullmqEnqueue({ queue, ...retries }),
    consume: ({ concurrency = 10, ...options }) =>
      bullmqConsume({
        Worker,
        queueName: name,
        workerOptions: { connection, concurrency, ...SHORT_LOCKS },
        logger: false,
        ...options,
      }),
    async put(data) {
      await queue.add("foreign", data);
    },
    async jobs() {
      const counts = await queue.getJobCounts();
      return Object.values(counts).reduce((sum, count) => sum + count, 0);
    },
    completed: () => queue.getCompletedCount(),
    async dead() {
      const failed = await queue.getFailed();
      return failed.map(({ data, failedReason }) => ({
        data: data as unknown,
        error: failedReason,
      }));
    },
  };
}

/** A Redis server of its own for BullMQ. `close` closes the opened queues too. */
export interface BullmqEngine extends InboxEngine {
  readonly server: RedisServer;
  readonly redis: Redis;
  readonly connection: { readonly host: string; readonly port: number };
  readonly open: (queue: string, retries?: RetryOptions) => Promise<OpenBullmqQueue>;
}

/** Starts a Redis that writes every job to disk before it answers. */
export async function startBullmqEngine(): Promise<BullmqEngine> {
  const server = await startRedisServer({ appendonly: "yes", appendfsync: "always" });
  const connection = { host: "127.0.0.1", port: server.port };
  const redis = new Redis(connection);
  redis.on("error", () => undefined);
  const queues: Queue[] = [];
  return {
    ...{ url: server.url, kill: server.kill, start: server.start, server, redis, connection },
    async open(name, retries) {
      const opened = await openBullmqQueue(server.url, name, retries);
      queues.push(opened.queue);
      return opened;
    },
    async dump() {
      await redis.config("SET", "rdbcompression", "no");
      const keys = await redis.keys("*");
      const values = await Promise.all(keys.map((key) => redis.dumpBuffer(key)));
      // A key may expire between the two commands.
      const kept = values.filter((value) => (value as Buffer | null) !== null);
      return Buffer.concat([Buffer.from(keys.join("\n")), ...kept]);
    },
    async close() {
      redis.disconnect();
      await Promise.all(queues.map((queue) => queue.close()));
      await server.close();
    },
  };
}
