export { redisStore, type RedisStoreOptions } from "./redis-store.js";
export type { IoredisClient, NodeRedisClient, RedisClient } from "./redis-client.js";
