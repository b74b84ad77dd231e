import { ConfigurationError } from "../../common/errors.js";
import { ownOptions } from "../../common/option-checks.js";
import type { ClaimResult, DeliveryStore } from "../delivery-store.js";
import { createEvictionWarning, type RedisStoreLogger } from "./eviction-warning.js";
import type { RedisClient } from "./redis-client.js";
import { connectionOf } from "./redis-connection.js";
import {
  CLAIM,
  CLAIM_CODES,
  COMPLETE,
  COMPLETE_CODE,
  RELEASE,
  RELEASE_CODE,
  RENEW,
  RENEW_CODES,
  type RedisScript,
} from "./redis-scripts.js";
import { createRunScript, ForeignReplyError } from "./run-script.js";

/** Options of `redisStore`. */
export interface RedisStoreOptions {
  /**
   * A client of node-redis or ioredis, standalone or Cluster. The application connects and closes it,
   * except that an ioredis client with `lazyConnect` is connected by its first use.
   */
  client: RedisClient;
  /**
   * Stands before the delivery id in each key: one for each application that shares the server. Default
   * `"webhook:"`, with which a UUID takes no more memory than without.
   */
  keyPrefix?: string | undefined;
  /** Told once of an eviction policy that can forget handled ids. Default `console`, `false` for nobody. */
  logger?: RedisStoreLogger | false | undefined;
}

/** 100 years: engines differ in what they take beyond, and nobody is there to see it end. */
const MAX_RETENTION_MS = 3_155_760_000_000;

/**
 * Remembers deliveries in Redis 5 or later, for any number of processes. Each verb is one Lua script on
 * one key, judged by the server's clock. A completed id is forgotten after its retention; a claim that
 * is neither completed nor released, and a takeover that is released, its retention after the lease's end.
 *
 * While the client is not connected, each verb rejects at once; only the first connection is waited for,
 * for two seconds. What else the server refuses (no memory, a replica, loading) rejects with its error.
 *
 * @throws ConfigurationError for an option that is unknown or cannot work.
 */
export function redisStore(options: RedisStoreOptions): DeliveryStore {
  const own = ownOptions("redisStore", options, ["client", "keyPrefix", "logger"]);
  const { client, keyPrefix = "webhook:", logger = console } = own;
  if (typeof keyPrefix !== "string") {
    throw new ConfigurationError("invalid_option", "keyPrefix has to be a string");
  }
  if (
    logger !== false &&
    typeof (logger as Partial<RedisStoreLogger> | null)?.warn !== "function"
  ) {
    throw new ConfigurationError(
      "invalid_option",
      "logger has to have the method warn, or be false",
    );
  }
  const run = createRunScript(connectionOf(client));
  const warnOfEviction = createEvictionWarning(run, logger);

  const call = async (script: RedisScript, id: string, ...args: string[]): Promise<number> => {
    const key = keyPrefix + id;
    const answer = await run(script, key, args);
    // Once the server is known to answer.
    warnOfEviction(key);
    return answer;
  };

  return {
    claim: async (key, owner, { leaseMs, retentionMs }) =>
      claimResultOf(await call(CLAIM, key, owner, String(leaseMs), retention(retentionMs))),
    async renew(key, owner, { leaseMs }) {
      const code = await call(RENEW, key, owner, String(leaseMs));
      return requireCode(code, RENEW_CODES.held, RENEW_CODES.lost) === RENEW_CODES.held;
    },
    async complete(key, _owner, { retentionMs }) {
      requireCode(await call(COMPLETE, key, retention(retentionMs)), COMPLETE_CODE);
    },
    async release(key, owner) {
      requireCode(await call(RELEASE, key, owner), RELEASE_CODE);
    },
  };
}

function claimResultOf(answer: number): ClaimResult {
  switch (answer) {
    case CLAIM_CODES.completed:
      return { state: "completed" };
    case CLAIM_CODES.claimed:
      return { state: "claimed", takeover: false };
    case CLAIM_CODES.takenOver:
      return { state: "claimed", takeover: true };
    default:
      if (answer > CLAIM_CODES.inFlight) {
        return { state: "in_flight", retryAfterMs: answer - CLAIM_CODES.inFlight };
      }
      throw new ForeignReplyError();
  }
}

/** `code`, unless its script answers no such one. */
function requireCode(code: number, ...known: readonly number[]): number {
  if (known.includes(code)) return code;
  throw new ForeignReplyError();
}

function retention(retentionMs: number): string {
  return String(Math.min(retentionMs, MAX_RETENTION_MS));
}
