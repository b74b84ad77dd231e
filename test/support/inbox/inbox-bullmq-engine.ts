import { Queue, Worker } from "bullmq";
import { Redis } from "ioredis";
import { bullmqQueue } from "../../../src/inbox/bullmq/index.js";
import { inboxConsume } from "../../../src/inbox/index.js";
import type { RetryOptions } from "../../../src/inbox/queue-options.js";
import { redisStore } from "../../../src/stores/redis/index.js";
import type { InboxEngine, InboxQueue } from "./inbox-engine.js";
import { startRedisServer, type RedisServer } from "../redis/redis-server.js";

/** Locks short enough for a test, and long enough for a worker on a busy machine. */
const SHORT_LOCKS = { lockDuration: 5_000, stalledInterval: 500, drainDelay: 1 };
const LEASE_MS = 4_000;

/** A queue of BullMQ, and how to close it. */
export interface OpenBullmqQueue extends InboxQueue {
  readonly queue: Queue;
  readonly close: () => Promise<void>;
}

/** Opens a queue that fails fast when its Redis is away. The store of its workers is in the same Redis. */
export async function openBullmqQueue(
  url: string,
  name: string,
  retries: RetryOptions = {},
): Promise<OpenBullmqQueue> {
  const connection = { host: "127.0.0.1", port: Number(new URL(url).port) };
  const queue = new Queue(name, { connection: { ...connection, enableOfflineQueue: false } });
  queue.on("error", () => undefined);
  await queue.waitUntilReady();
  const client = new Redis(connection);
  client.on("error", () => undefined);
  const workerOptions = { connection, ...SHORT_LOCKS };
  const driver = bullmqQueue({ queue, Worker, workerOptions });
  let finished = 0;
  return {
    queue,
    deadDeliveries: driver,
    enqueue: driver,
    consume({ onJob, ...options }) {
      const { stop } = inboxConsume({
        driver,
        store: redisStore({ client }),
        leaseMs: LEASE_MS,
        logger: false,
        ...retries,
        ...options,
        onJob(report) {
          if (report.outcome === "handled" || report.outcome === "discarded") finished += 1;
          return onJob?.(report);
        },
      });
      return stop;
    },
    async put(data) {
      await queue.add("foreign", data);
    },
    async jobs() {
      const counts = await queue.getJobCounts();
      return Object.values(counts).reduce((sum, count) => sum + count, 0);
    },
    completed: () => Promise.resolve(finished),
    async dead() {
      const failed = await queue.getFailed();
      return failed.map(({ data, failedReason }) => ({
        data: data as unknown,
        error: failedReason,
      }));
    },
    async close() {
      client.disconnect();
      await queue.close();
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
  const settings = { appendonly: "yes", appendfsync: "always", "maxmemory-policy": "noeviction" };
  const server = await startRedisServer(settings);
  const connection = { host: "127.0.0.1", port: server.port };
  const redis = new Redis(connection);
  redis.on("error", () => undefined);
  const queues: OpenBullmqQueue[] = [];
  return {
    url: server.url,
    kill: server.kill,
    start: server.start,
    server,
    redis,
    connection,
    async open(name, retries) {
      const opened = await openBullmqQueue(server.url, name, retries);
      queues.push(opened);
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
