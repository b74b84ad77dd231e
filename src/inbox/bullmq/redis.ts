import type { BullmqWorker } from "./client.js";

/** The Redis commands that BullMQ's workers of both majors have in common. */
export interface WorkerRedis {
  hget(key: string, field: string): Promise<string | null>;
  hmget(key: string, ...fields: string[]): Promise<(string | null)[]>;
  /** How many of the fields were not there before. */
  hset(key: string, fields: Record<string, string | number>): Promise<number>;
  hdel(key: string, ...fields: string[]): Promise<number>;
  zrevrange(key: string, start: number, end: number): Promise<string[]>;
}

/** The connection of a worker: `worker.client` in BullMQ 5, that of its backend in BullMQ 6. */
export async function redisOf(worker: BullmqWorker): Promise<WorkerRedis> {
  const { client, getBackend } = worker as BullmqWorker & {
    readonly client?: PromiseLike<WorkerRedis>;
    readonly getBackend?: () => { readonly client: PromiseLike<WorkerRedis> };
  };
  const connection = client ?? getBackend?.call(worker).client;
  if (connection === undefined) throw new TypeError("BullMQ's worker has no Redis client");
  return connection;
}
