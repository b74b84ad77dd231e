import type { RedisConnection } from "./redis-connection.js";
import type { RedisScript } from "./redis-scripts.js";
import { RedisUnavailableError } from "./redis-unavailable-error.js";
import { createRequireConnection } from "./require-connection.js";
import { serverErrorCode } from "./server-error-code.js";

/** Runs a script on one key, and gives the integer that it answers. */
export type RunScript = (
  script: RedisScript,
  key: string,
  args: readonly string[],
) => Promise<number>;

/**
 * How many calls may wait for their answers. A connection that swallows all it is sent looks alive until
 * the operating system gives it up, which takes a quarter of an hour.
 */
const MAX_WAITING = 10_000;

/** Redis 7 and later run a script with this line at `maxmemory`; earlier ones cannot read it. */
const ALLOW_OOM = "#!lua flags=allow-oom\n";

/** Makes the way of every script to the server. */
export function createRunScript(connection: RedisConnection): RunScript {
  const requireConnection = createRequireConnection(connection);
  let waiting = 0;

  const evaluate = async ({ sha1, lua }: RedisScript, key: string, args: readonly string[]) => {
    try {
      return await connection.evalSha(sha1, key, args);
    } catch (error) {
      if (serverErrorCode(error) !== "NOSCRIPT") throw error;
      return connection.eval(lua, key, args);
    }
  };

  const evaluateWithinMemory: typeof evaluate = async (script, key, args) => {
    try {
      return await evaluate(script, key, args);
    } catch (error) {
      if (script.needsNoMemory !== true || serverErrorCode(error) !== "OOM") throw error;
      return await connection.eval(ALLOW_OOM + script.lua, key, args).catch(() => {
        throw error;
      });
    }
  };

  return async (script, key, args) => {
    if (waiting >= MAX_WAITING) {
      throw new RedisUnavailableError(`${String(MAX_WAITING)} calls wait for Redis already`);
    }
    waiting += 1;
    try {
      await requireConnection();
      return integerOf(await evaluateWithinMemory(script, key, args));
    } finally {
      waiting -= 1;
    }
  };
}

/** Clients can be told to give integers as texts or as bigints. */
function integerOf(reply: unknown): number {
  const integer =
    typeof reply === "string" || typeof reply === "bigint" ? Number(reply) : (reply as number);
  if (Number.isInteger(integer)) return integer;
  throw new TypeError("the Redis client answered a script with what is no integer");
}
