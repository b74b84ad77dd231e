import type { RedisConnection } from "./redis-connection.js";
import { CODES, type RedisScript } from "./redis-scripts.js";
import { RedisUnavailableError } from "./redis-unavailable-error.js";
import { createRequireConnection } from "./require-connection.js";
import { serverErrorCode } from "./server-error-code.js";
import { UnexpectedResultError } from "../claim-results.js";

/** Runs a script on one key, and resolves to the code that it answers. Rejects with any other reply. */
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

/** Numbers of calls begin anew from here. Two calls of one number are never under way together. */
const CALLS = 2 ** 20;

/**
 * The client gave a call the reply to another one, as one that has lost count of its replies does. Nothing
 * that it says holds until it is connected anew.
 */
export class ForeignReplyError extends Error {
  override readonly name = "ForeignReplyError";
  /** Stable, so that code can branch on it. */
  readonly code = "foreign_reply";

  constructor() {
    super("the Redis client answered with the reply to another command: connect it anew");
  }
}

/** Redis 7 and later run a script with this line at `maxmemory`; earlier ones cannot read it. */
const ALLOW_OOM = "#!lua flags=allow-oom\n";

/** Makes the way of every script to the server. */
export function createRunScript(connection: RedisConnection): RunScript {
  const requireConnection = createRequireConnection(connection);
  let waiting = 0;
  // Not from 0: several stores may share a client.
  let call = Math.floor(Math.random() * CALLS);

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
      call = (call + 1) % CALLS;
      const own = call;
      const reply = integerOf(await evaluateWithinMemory(script, key, [...args, String(own)]));
      const code = reply - own * CODES;
      if (code > 0 && code < CODES) return code;
      throw new ForeignReplyError();
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
  throw new UnexpectedResultError("the Redis client answered a script with what is no integer");
}
