export { redisStore, type RedisStoreOptions } from "./redis-store.js";
export type { RedisClient } from "./redis-connection.js";
