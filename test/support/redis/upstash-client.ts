import type { HttpRedisClient } from "../../../src/stores/redis/redis-connection.js";
import { installPlatform, loadFrom } from "../platform-packages.js";
import type { RedisHttpFront } from "./http-front.js";

/** A `Redis` of `@upstash/redis`. */
export interface UpstashClient extends HttpRedisClient {
  pipeline(): HttpRedisClient;
  multi(): HttpRedisClient;
  scriptFlush(): Promise<unknown>;
}

/** Makes a client of `@upstash/redis`, with its defaults. `more`: other options. */
export async function openUpstash(
  { url, token }: Pick<RedisHttpFront, "url" | "token">,
  more: Record<string, unknown> = {},
): Promise<UpstashClient> {
  const { Redis } = loadFrom(await installPlatform("upstash"), "@upstash/redis") as {
    Redis: new (options: Record<string, unknown>) => UpstashClient;
  };
  return new Redis({ url, token, ...more });
}
