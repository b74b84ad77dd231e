export { redisStore, type RedisStoreOptions } from "./redis-store.js";
export type { RedisStoreLogger } from "./eviction-check.js";
export type {
  HttpRedisClient,
  IoredisClient,
  NodeRedisClient,
  RedisClient,
} from "./redis-client.js";
