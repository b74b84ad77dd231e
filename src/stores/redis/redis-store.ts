import { ErrorListenerCheck } from "../../common/error-listeners.js";
import { invalidOption } from "../../common/errors.js";
import { ownOptions } from "../../common/option-checks.js";
import {
  CLAIMED,
  COMPLETED,
  TAKEN_OVER,
  inFlight,
  type ClaimResult,
  type DeliveryStore,
} from "../delivery-store.js";
import { evictionCheck, type RedisStoreLogger } from "./eviction-check.js";
import { type RedisClient, connectionOf } from "./redis-connection.js";
import {
  CLAIM,
  CLAIM_CODES,
  COMPLETE,
  COMPLETE_CODE,
  RELEASE,
  RELEASE_CODE,
  RENEW,
  RENEW_CODES,
  redisKey,
  type RedisScript,
} from "./redis-scripts.js";
import { foreignReply, ScriptRunner } from "./script-runner.js";

/** Options of `redisStore`. */
export interface RedisStoreOptions {
  /**
   * A client of node-redis or ioredis: standalone, Sentinel or Cluster. The application connects and
   * closes it; an ioredis client with `lazyConnect` is connected by the first delivery. Or a client of
   * `@upstash/redis`, with any of its options.
   */
  client: RedisClient;
  /**
   * First part of each key, any string. Default `"gateway-deliveries:"`. Applications that share a server
   * need a prefix each. The whole key is the prefix, the version of the layout, and the delivery id in
   * braces: `gateway-deliveries:1:{<id>}`. A hash tag in the prefix (`"{gateway}:"`) puts all keys on
   * one node of a Cluster.
   */
  keyPrefix?: string | undefined;
  /**
   * Receives one warning if the server's eviction policy can forget handled ids. Default `console`;
   * `false` turns the check off.
   */
  logger?: RedisStoreLogger | false | undefined;
}

/** 100 years. Redis and its forks differ in the longest time to live that they accept. */
const MAX_RETENTION_MS = 3_155_760_000_000;

/**
 * A store in Redis 5 or later, or in Upstash, shared by any number of processes and hosts. Each method is one Lua script
 * on one key, by the server's clock. Redis deletes a completed id after its retention, and a lease that
 * was never completed or released one retention after its end.
 *
 * While the client is not connected, each method rejects at once with `redis_unavailable`, and the
 * gateway is answered 503. It waits only for the first connection, two seconds at most. If the server
 * refuses a script (no memory, read-only replica, loading), the method rejects with that error. A client
 * over HTTP has no connection; its own errors reject the method.
 *
 * @throws ConfigurationError for an unknown or invalid option, and (`unsupported_version`) for a client of
 * redis 3.
 * @example
 * ```ts
 * import { createClient } from "redis";
 *
 * const client = createClient({ url: process.env.REDIS_URL });
 * client.on("error", (error) => console.error(error)); // without a listener it ends the process
 * await client.connect();
 *
 * const receiver = createWebhookReceiver({ secret, handlers, store: redisStore({ client }) });
 * ```
 */
export function redisStore(options: RedisStoreOptions): DeliveryStore {
  const own = ownOptions("redisStore", options, ["client", "keyPrefix", "logger"]);
  const { client, keyPrefix = "gateway-deliveries:", logger = console } = own;
  if (typeof keyPrefix !== "string") {
    throw invalidOption("keyPrefix must be a string");
  }
  if (
    logger !== false &&
    typeof (logger as Partial<RedisStoreLogger> | null)?.warn !== "function"
  ) {
    throw invalidOption("logger must have a method warn, or be false");
  }
  const scripts = new ScriptRunner(connectionOf(client));
  // ioredis writes an error that no one listens for to the console.
  const errorListener = new ErrorListenerCheck("the client of node-redis", client);
  const isNodeRedis = "evalSha" in client;
  const eviction = evictionCheck(scripts, logger);

  const run = async (script: RedisScript, id: string, ...args: string[]): Promise<number> => {
    if (isNodeRedis) errorListener.check?.();
    const key = redisKey(keyPrefix, id);
    const code = await scripts.run(script, key, args);
    // After the first answer, because the server may be away until then.
    eviction.start(key);
    return code;
  };

  return {
    scope: keyPrefix,
    connectReceiver(receiver) {
      errorListener.connect(receiver);
      eviction.connect(receiver);
    },
    claim: async (key, owner, { leaseMs, retentionMs }) =>
      readClaim(await run(CLAIM, key, owner, String(leaseMs), toRetention(retentionMs))),
    async renew(key, owner, { leaseMs }) {
      const code = await run(RENEW, key, owner, String(leaseMs));
      return requireCode(code, RENEW_CODES.held, RENEW_CODES.lost) === RENEW_CODES.held;
    },
    async complete(key, _owner, { retentionMs }) {
      requireCode(await run(COMPLETE, key, toRetention(retentionMs)), COMPLETE_CODE);
    },
    async release(key, owner) {
      requireCode(await run(RELEASE, key, owner), RELEASE_CODE);
    },
  };
}

function readClaim(code: number): ClaimResult {
  switch (code) {
    case CLAIM_CODES.completed:
      return COMPLETED;
    case CLAIM_CODES.claimed:
      return CLAIMED;
    case CLAIM_CODES.takenOver:
      return TAKEN_OVER;
    default:
      if (code > CLAIM_CODES.inFlight) return inFlight(code - CLAIM_CODES.inFlight);
      throw foreignReply();
  }
}

/** Returns `code` if the script that ran can answer it. */
function requireCode(code: number, ...known: readonly number[]): number {
  if (known.includes(code)) return code;
  throw foreignReply();
}

function toRetention(retentionMs: number): string {
  return String(Math.min(retentionMs, MAX_RETENTION_MS));
}
