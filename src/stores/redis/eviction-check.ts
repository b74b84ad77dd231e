import { ignoreFailure } from "../../common/promises.js";
import type { StoreConnection } from "../delivery-store.js";
import { ANSWER, type RedisScript } from "./redis-scripts.js";
import { serverErrorCode, type ScriptRunner } from "./script-runner.js";

/** Where `redisStore` writes its warning. The store ignores what `warn` returns, throws or rejects with. */
export interface RedisStoreLogger {
  warn(message: string, details?: unknown): unknown;
}

/** The answers of `EVICTION_POLICY`; `unknown` if the server does not report its policy. */
export const POLICY_CODES = { keeps: 51, evicts: 52, unknown: 53 };

/**
 * KEYS: any key, so that a Cluster can route the script. Answers one of `POLICY_CODES`. Reads INFO, since
 * scripts and managed servers do not allow CONFIG GET.
 */
export const EVICTION_POLICY: RedisScript = {
  lua: `${ANSWER}local policy = string.match(redis.call('INFO', 'memory'), 'maxmemory_policy:([%w-]+)')
if not policy then return answer(${String(POLICY_CODES.unknown)}) end
if policy == 'noeviction' then return answer(${String(POLICY_CODES.keeps)}) end
return answer(${String(POLICY_CODES.evicts)})
`,
  sha1: "6f7b6c67101723b685747275e51cc56ad9329b53",
};

const EVICTS =
  "identity-gateway-webhooks: Redis may evict the ids of handled deliveries when its memory is full, " +
  "and a redelivery is then handled again: set maxmemory-policy to noeviction";
const UNKNOWN =
  "identity-gateway-webhooks: the eviction policy of Redis could not be read with INFO: " +
  "make sure that maxmemory-policy is noeviction (at Upstash: that eviction is off)";

/**
 * Reads the server's eviction policy once and warns if it can evict handled ids. Runs in the background
 * and fails no delivery. After a broken connection the next call tries again.
 */
export function evictionCheck(scripts: ScriptRunner, logger: RedisStoreLogger | false) {
  let isDue = true;
  let evicts = false;
  /** The receivers that wait for the result; undefined once it is known. */
  let waiting: StoreConnection[] | undefined = [];
  const warn = (message: string, ...details: readonly unknown[]): void => {
    if (logger !== false) void ignoreFailure(() => logger.warn(message, ...details));
  };
  return {
    /** Tells this receiver too if the server can evict handled ids. */
    connect(receiver: StoreConnection): void {
      if (evicts) receiver.noteForgets();
      else waiting?.push(receiver);
    },

    /** Starts the check if it has not run yet. `key`: any key of the store. */
    start(key: string): void {
      if (!isDue || logger === false) return;
      isDue = false;
      scripts.run(EVICTION_POLICY, key, []).then(
        (policy) => {
          const receivers = waiting;
          waiting = undefined;
          if (policy === POLICY_CODES.evicts) {
            evicts = true;
            receivers?.forEach((receiver) => receiver.noteForgets());
            warn(EVICTS);
          } else if (policy !== POLICY_CODES.keeps) warn(UNKNOWN);
        },
        (error: unknown) => {
          isDue = serverErrorCode(error) === undefined;
          if (isDue) return;
          waiting = undefined;
          warn(UNKNOWN, { error });
        },
      );
    },
  };
}
