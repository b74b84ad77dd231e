import { invalidOption } from "../../common/errors.js";
import { missingMethod, unsupportedVersion } from "../../common/option-checks.js";

/** The keys and arguments of a script, as node-redis takes them. */
interface ScriptInput {
  keys: string[];
  arguments: string[];
}

/** A node of a Cluster. It has no client until it is used. */
interface ClusterNode {
  readonly client?: { readonly isReady: boolean } | undefined;
}

/**
 * The part of a node-redis client that `redisStore` uses. Made by `createClient`, `createCluster` or
 * `createSentinel`; a pool does not fit.
 */
export type NodeRedisClient = NodeRedisCalls & (ReadyClient | ClusterWithoutReady);

interface NodeRedisCalls {
  /** Whether `connect()` was called and the client has not been closed since. */
  readonly isOpen: boolean;
  evalSha(sha1: string, input: ScriptInput): Promise<unknown>;
  eval(script: string, input: ScriptInput): Promise<unknown>;
}

/** A client that reports whether it is connected now. */
interface ReadyClient {
  readonly isReady: boolean;
  /** The nodes of a Cluster. Its own `isReady` stays true when all of them are gone. */
  readonly masters?: readonly ClusterNode[];
}

/** A Cluster of node-redis 5, which has no `isReady`. */
interface ClusterWithoutReady {
  readonly isReady?: undefined;
  readonly masters: readonly ClusterNode[];
}

/**
 * The part of an ioredis client that `redisStore` uses. Made by `new Redis()` or `new Redis.Cluster()`.
 */
export interface IoredisClient {
  /** `"ready"` when connected, `"wait"` before a lazy connection, `"end"` once closed for good. */
  readonly status: string;
  connect(): Promise<unknown>;
  evalsha(sha1: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
}

/**
 * The part of `@upstash/redis` that `redisStore` uses. Made by `new Redis({ url, token })`; a pipeline does
 * not fit. Any client of Redis over HTTP with these methods works, if its promises reject with the error of
 * the server as the start of the message. Such a client has no connection, and so no `connect`.
 */
export interface HttpRedisClient {
  readonly connect?: undefined;
  evalsha(sha1: string, keys: string[], args: string[]): Promise<unknown>;
  eval(script: string, keys: string[], args: string[]): Promise<unknown>;
}

/**
 * A Redis client of one of the libraries: node-redis and ioredis (standalone, Sentinel or Cluster), or
 * Redis over HTTP. The store never closes it.
 */
export type RedisClient = NodeRedisClient | IoredisClient | HttpRedisClient;
/** A client of any library, as the store uses it. Each script has one key, so a Cluster can route it. */
export interface RedisConnection {
  /** `"connecting"`: not connected now, but the client is still trying. */
  readonly state: () => "ready" | "connecting" | "closed";
  /** What the user can do if the client is closed. */
  readonly closedAdvice: string;
  readonly evalSha: (sha1: string, key: string, args: readonly string[]) => Promise<unknown>;
  readonly eval: (lua: string, key: string, args: readonly string[]) => Promise<unknown>;
}

const SUPPORTED = "redis 5 and later, ioredis 5 and later, @upstash/redis 1.34 and later";

/**
 * Recognises the library of `client`. node-redis has `evalSha` and a boolean `isReady`, or the `masters`
 * of a Cluster; ioredis has `evalsha` and a string `status`; a client over HTTP has `evalsha` and nothing
 * of a connection. Throws `ConfigurationError` for a client that looks like none or like several.
 */
export function connectionOf(client: RedisClient): RedisConnection {
  const found = [
    looksLikeNodeRedis(client) ? nodeRedisConnection(client) : undefined,
    looksLikeIoredis(client) ? ioredisConnection(client) : undefined,
    looksLikeHttp(client) ? httpConnection(client) : undefined,
  ].filter((connection) => connection !== undefined);
  const [connection] = found;
  if (connection !== undefined && found.length === 1) return connection;
  if ("connection_id" in (Object(client) as object)) {
    throw unsupportedVersion("client", "redis 3", SUPPORTED);
  }
  throw invalidOption(
    "client must be a client of node-redis (createClient, createCluster, createSentinel; no pool), " +
      "of ioredis (new Redis, new Redis.Cluster) or of @upstash/redis (new Redis; no pipeline)",
  );
}

function looksLikeNodeRedis(client: RedisClient): client is NodeRedisClient {
  return (
    missingMethod(client, ["evalSha", "eval"]) === undefined &&
    (("isReady" in client && typeof (client.isReady as unknown) === "boolean") ||
      ("masters" in client && Array.isArray(client.masters)))
  );
}

function looksLikeIoredis(client: RedisClient): client is IoredisClient {
  return (
    missingMethod(client, ["evalsha", "eval", "connect"]) === undefined &&
    "status" in client &&
    typeof (client.status as unknown) === "string"
  );
}

/** A pipeline has the methods too, but returns no promises. It has `exec` and, unlike a client, no `pipeline`. */
function looksLikeHttp(client: RedisClient): client is HttpRedisClient {
  const members = Object(client) as Record<string, unknown>;
  return (
    missingMethod(client, ["evalsha", "eval"]) === undefined &&
    (members["exec"] === undefined || typeof members["pipeline"] === "function") &&
    ["connect", "status", "isReady", "masters"].every((name) => members[name] === undefined)
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

/** False if no node of a Cluster is connected: the client would hold each call for five seconds. */
function hasReachableNode({ masters = [] }: NodeRedisClient): boolean {
  return masters.length === 0 || masters.some(({ client }) => client?.isReady !== false);
}

function ioredisConnection(client: IoredisClient): RedisConnection {
  return {
    state() {
      // With `lazyConnect` only a command would connect, and we send none before "ready".
      if (client.status === "wait") client.connect().catch(() => undefined);
      if (client.status === "ready") return "ready";
      return client.status === "end" ? "closed" : "connecting";
    },
    closedAdvice: "it was disconnected, or its retryStrategy gave up",
    evalSha: (sha1, key, args) => client.evalsha(sha1, 1, key, ...args),
    eval: (lua, key, args) => client.eval(lua, 1, key, ...args),
  };
}

function httpConnection(client: HttpRedisClient): RedisConnection {
  return {
    // Each call is a request of its own.
    state: () => "ready",
    closedAdvice: "",
    evalSha: (sha1, key, args) => client.evalsha(sha1, [key], [...args]),
    eval: (lua, key, args) => client.eval(lua, [key], [...args]),
  };
}
