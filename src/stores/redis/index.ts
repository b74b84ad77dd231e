export { redisStore, type RedisStoreOptions } from "./redis-store.js";
export type { IoredisClient, NodeRedisClient, RedisClient } from "./redis-client.js";
export { ForeignReplyError } from "./run-script.js";
export { RedisUnavailableError } from "./redis-unavailable-error.js";
