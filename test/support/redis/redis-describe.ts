import { Redis, type RedisOptions } from "ioredis";
import { onTestFinished } from "vitest";
import { createClient } from "redis";
import { setTimeout as wait } from "node:timers/promises";
import type { ClaimResult, DeliveryStore } from "../../../src/index.js";
import { describeService } from "../describe-service.js";
import { verbsOf } from "../stores/store-cases.js";
import { hasRedisServer, startRedisServer, type RedisServer } from "./redis-server.js";

/** `describe` for tests that start a Redis server. */
export function describeRedis(title: string, body: () => void): void {
  describeService(title, hasRedisServer ? undefined : "redis-server is not on PATH", body);
}

/** Starts a server that ends with its test. `settings`: more of redis.conf. */
export async function newServer(settings?: Readonly<Record<string, string>>): Promise<RedisServer> {
  const server = await startRedisServer(settings);
  onTestFinished(server.close);
  return server;
}

type Options = Pick<RedisOptions, "lazyConnect" | "socketTimeout" | "reconnectOnError">;

/** A client of ioredis that begins to connect, and ends with its test. */
export function connectIoredis(port: number, options: Options = {}): Redis {
  const client = new Redis(port, "127.0.0.1", options).on("error", () => undefined);
  onTestFinished(() => {
    client.disconnect();
  });
  return client;
}

/** A client of node-redis that begins to connect, and ends with its test. */
export function connectNodeRedis(port: number) {
  const client = createClient({ url: `redis://127.0.0.1:${port}` }).on("error", () => undefined);
  client.connect().catch(() => undefined);
  onTestFinished(() => {
    client.destroy();
  });
  return client;
}

/** Claims until the server answers. */
export async function claimWhenBack(
  store: DeliveryStore,
  key: string,
  owner: string,
): Promise<ClaimResult> {
  for (;;) {
    try {
      return await verbsOf(store).claim(key, owner);
    } catch {
      await wait(20);
    }
  }
}
