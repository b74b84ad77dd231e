import { ignoreFailure } from "../../common/promises.js";
import { ANSWER, type RedisScript } from "./redis-scripts.js";
import type { RunScript } from "./run-script.js";
import { serverErrorCode } from "./server-error-code.js";

/** Where the store writes. What the method returns, throws or rejects with is ignored. */
export interface RedisStoreLogger {
  warn(message: string, details?: unknown): unknown;
}

/** What `EVICTION_POLICY` answers; `unknown` where the server does not say. */
export const POLICY_CODES = { keeps: 51, evicts: 52, unknown: 53 };

/**
 * Takes one key, whichever it is. Answers one of `POLICY_CODES`. Asked through a script, so that a Cluster has a key to route it by.
 * CONFIG GET is forbidden by managed servers, and in scripts.
 */
export const EVICTION_POLICY: RedisScript = {
  lua: `${ANSWER}local policy = string.match(redis.call('INFO', 'memory'), 'maxmemory_policy:([%w-]+)')
if not policy then return answer(${String(POLICY_CODES.unknown)}) end
if policy == 'noeviction' then return answer(${String(POLICY_CODES.keeps)}) end
return answer(${String(POLICY_CODES.evicts)})
`,
  sha1: "6f7b6c67101723b685747275e51cc56ad9329b53",
};

const FORGETS =
  "identity-gateway-webhooks: Redis may evict the ids of handled deliveries when its memory is full, " +
  "and a copy is then handled again: set maxmemory-policy to noeviction";
const UNKNOWN =
  "identity-gateway-webhooks: the eviction policy of Redis could not be read with INFO: " +
  "make sure that maxmemory-policy is noeviction";

/**
 * Makes a check that the server answers once, beside whatever goes on: it is not waited for, and fails
 * nothing. Where the connection breaks, the next call tries again.
 */
export function createEvictionWarning(
  run: RunScript,
  logger: RedisStoreLogger | false,
): (key: string) => void {
  if (logger === false) return () => undefined;
  let isDue = true;

  const warn = (message: string, error?: unknown): void => {
    void ignoreFailure(() =>
      error === undefined ? logger.warn(message) : logger.warn(message, { error }),
    );
  };

  return (key) => {
    if (!isDue) return;
    isDue = false;
    run(EVICTION_POLICY, key, []).then(
      (answer) => {
        if (answer !== POLICY_CODES.keeps) warn(answer === POLICY_CODES.evicts ? FORGETS : UNKNOWN);
      },
      (error: unknown) => {
        if (serverErrorCode(error) === undefined) isDue = true;
        else warn(UNKNOWN, error);
      },
    );
  };
}
