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
