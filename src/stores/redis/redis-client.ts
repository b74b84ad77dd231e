/** The keys and arguments of a script, as node-redis takes them. */
interface ScriptInput {
  keys: string[];
  arguments: string[];
}

/** A node of a Cluster; without a client while it is not used. */
interface ClusterNode {
  readonly client?: { readonly isReady: boolean } | undefined;
}

/** What is used of a client of node-redis: `createClient`, `createCluster` or `createSentinel`. */
export type NodeRedisClient = NodeRedisCalls & (ReadyClient | UntoldCluster);

interface NodeRedisCalls {
  /** Whether `connect()` was called, and the client not closed since. */
  readonly isOpen: boolean;
  evalSha(sha1: string, input: ScriptInput): Promise<unknown>;
  eval(script: string, input: ScriptInput): Promise<unknown>;
}

/** A client that says whether it is connected now. */
interface ReadyClient {
  readonly isReady: boolean;
  /** The nodes of a Cluster, whose own `isReady` stays true when they are gone. */
  readonly masters?: readonly ClusterNode[];
}

/** A Cluster of node-redis 5, which does not. */
interface UntoldCluster {
  readonly isReady?: undefined;
  readonly masters: readonly ClusterNode[];
}

/** What is used of a client of ioredis: `new Redis()` or `new Redis.Cluster()`. */
export interface IoredisClient {
  /** `"ready"`, `"wait"` before a lazy connection, `"end"` after the last. */
  readonly status: string;
  connect(): Promise<unknown>;
  evalsha(sha1: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
}

/** A client of Redis, standalone or Cluster, of either library. The store never closes it. */
export type RedisClient = NodeRedisClient | IoredisClient;
