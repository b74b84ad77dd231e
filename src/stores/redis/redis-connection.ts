import { ConfigurationError } from "../../common/errors.js";
import type { IoredisClient, NodeRedisClient, RedisClient } from "./redis-client.js";

/** A client of either library, as the store uses it. A script has one key, so that a Cluster can route it. */
export interface RedisConnection {
  /** `"connecting"`: not connected, but it may be later, and by itself. */
  readonly state: () => "ready" | "connecting" | "closed";
  /** What to do about a client that is closed. */
  readonly closedAdvice: string;
  readonly evalSha: (sha1: string, key: string, args: readonly string[]) => Promise<unknown>;
  readonly eval: (lua: string, key: string, args: readonly string[]) => Promise<unknown>;
}

/**
 * Tells the libraries apart: node-redis has `evalSha` and the flag `isReady`, or the `masters` of a
 * Cluster, ioredis has `evalsha` and the text `status`. Throws `ConfigurationError` for what is neither,
 * or looks like both.
 */
export function connectionOf(client: RedisClient): RedisConnection {
  const isNodeRedis = looksLikeNodeRedis(client);
  if (isNodeRedis === looksLikeIoredis(client)) {
    throw new ConfigurationError(
      "invalid_option",
      "client has to be a client of node-redis (createClient, createCluster, createSentinel; no pool) " +
        "or of ioredis (new Redis, new Redis.Cluster)",
    );
  }
  return isNodeRedis ? nodeRedisConnection(client) : ioredisConnection(client);
}

function looksLikeNodeRedis(client: RedisClient): client is NodeRedisClient {
  return (
    hasMethods(client, ["evalSha", "eval"]) &&
    (("isReady" in client && typeof (client.isReady as unknown) === "boolean") ||
      ("masters" in client && Array.isArray(client.masters)))
  );
}

function looksLikeIoredis(client: RedisClient): boolean {
  return (
    hasMethods(client, ["evalsha", "eval", "connect"]) &&
    "status" in client &&
    typeof (client.status as unknown) === "string"
  );
}

function hasMethods(value: unknown, methods: readonly string[]): boolean {
  return (
    typeof value === "object" &&
    value !== null &&
    methods.every((method) => typeof (value as Record<string, unknown>)[method] === "function")
  );
}

function nodeRedisConnection(client: NodeRedisClient): RedisConnection {
  return {
    state() {
      const { isOpen, isReady = isOpen } = client;
      if (isReady && hasReachableNode(client)) return "ready";
      return isOpen ? "connecting" : "closed";
    },
    closedAdvice: "call client.connect() when the application starts",
    evalSha: (sha1, key, args) => client.evalSha(sha1, { keys: [key], arguments: [...args] }),
    eval: (lua, key, args) => client.eval(lua, { keys: [key], arguments: [...args] }),
  };
}

/** False where no node of a Cluster is connected: each call would then be held for five seconds. */
function hasReachableNode({ masters = [] }: NodeRedisClient): boolean {
  return masters.length === 0 || masters.some(({ client }) => client?.isReady !== false);
}

function ioredisConnection(client: IoredisClient): RedisConnection {
  return {
    state() {
      // With `lazyConnect` the first command connects, and no command is sent before.
      if (client.status === "wait") client.connect().catch(() => undefined);
      if (client.status === "ready") return "ready";
      return client.status === "end" ? "closed" : "connecting";
    },
    closedAdvice: "it was disconnected, or its retryStrategy gave up",
    evalSha: (sha1, key, args) => client.evalsha(sha1, 1, key, ...args),
    eval: (lua, key, args) => client.eval(lua, 1, key, ...args),
  };
}
