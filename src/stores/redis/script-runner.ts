import { unexpectedResult, GatewayWebhookError } from "../../common/errors.js";
import { startBackgroundTimer } from "../../common/timers.js";
import type { RedisConnection } from "./redis-connection.js";
import { CALL_FACTOR, type RedisScript } from "./redis-scripts.js";

/**
 * Limit of the calls that wait for an answer. A connection whose packets the network drops looks alive
 * until the operating system closes it, which takes about 15 minutes; without a limit the calls would pile
 * up.
 */
const MAX_WAITING = 10_000;

/** Call numbers wrap around here. At most `MAX_WAITING` are in use, so no two calls share one. */
const CALL_NUMBERS = 2 ** 20;

/** Long enough for a serverless function that connects while its first request waits. */
const FIRST_CONNECTION_MS = 2_000;
const POLL_MS = 10;

/** From Redis 7 a script with this first line runs at `maxmemory`. Earlier versions cannot parse it. */
const ALLOW_OOM = "#!lua flags=allow-oom\n";

/** Sends scripts to the server and checks that each reply belongs to its call. */
export class ScriptRunner {
  #waiting = 0;
  /** A random start, because several stores may share a client. */
  #call = Math.floor(Math.random() * CALL_NUMBERS);
  #firstConnection: Promise<void> | undefined;

  readonly #connection: RedisConnection;

  constructor(connection: RedisConnection) {
    this.#connection = connection;
  }

  /**
   * Runs `script` on `key` and resolves to the code that it answers. Rejects with
   * `redis_unavailable` if the script is not sent, and with `foreign_reply` for any other reply.
   */
  async run(script: RedisScript, key: string, args: readonly string[]): Promise<number> {
    if (this.#waiting >= MAX_WAITING) {
      throw unavailable(`${String(MAX_WAITING)} calls already wait for Redis`);
    }
    this.#waiting += 1;
    try {
      await this.#requireConnection();
      this.#call = (this.#call + 1) % CALL_NUMBERS;
      const call = this.#call;
      const reply = toInteger(
        await this.#evaluateAtMaxMemory(script, key, [...args, String(call)]),
      );
      const code = reply - call * CALL_FACTOR;
      if (code > 0 && code < CALL_FACTOR) return code;
      throw foreignReply();
    } finally {
      this.#waiting -= 1;
    }
  }

  /**
   * Rejects at once while the client is not connected: the client's own queue would hold the request open
   * and grow with each one. It waits only for the first connection, two seconds at most.
   */
  async #requireConnection(): Promise<void> {
    let state = this.#connection.state();
    if (state === "connecting") {
      this.#firstConnection ??= untilConnected(this.#connection);
      await this.#firstConnection;
      state = this.#connection.state();
    }
    if (state === "closed") {
      throw unavailable(`the Redis client is closed: ${this.#connection.closedAdvice}`);
    }
    if (state === "connecting") {
      throw unavailable("the Redis client is not connected: is the server up?");
    }
    this.#firstConnection ??= Promise.resolve();
  }

  async #evaluateAtMaxMemory(
    script: RedisScript,
    key: string,
    args: readonly string[],
  ): Promise<unknown> {
    try {
      return await this.#evaluate(script, key, args);
    } catch (error) {
      if (script.needsNoMemory !== true || serverErrorCode(error) !== "OOM") throw error;
      return await this.#connection.eval(ALLOW_OOM + script.lua, key, args).catch(() => {
        throw error;
      });
    }
  }

  async #evaluate(
    { sha1, lua }: RedisScript,
    key: string,
    args: readonly string[],
  ): Promise<unknown> {
    try {
      return await this.#connection.evalSha(sha1, key, args);
    } catch (error) {
      if (serverErrorCode(error) !== "NOSCRIPT") throw error;
      return this.#connection.eval(lua, key, args);
    }
  }
}

function unavailable(message: string): GatewayWebhookError {
  return new GatewayWebhookError("redis_unavailable", message);
}

/** Resolves when the client is connected or closed, or after two seconds. */
function untilConnected(connection: RedisConnection): Promise<void> {
  const deadline = performance.now() + FIRST_CONNECTION_MS;
  return new Promise((resolve) => {
    const poll = (): void => {
      if (connection.state() !== "connecting" || performance.now() >= deadline) resolve();
      else startBackgroundTimer(POLL_MS, poll);
    };
    poll();
  });
}

/** A client may be configured to return integers as strings or bigints. */
function toInteger(reply: unknown): number {
  const integer =
    typeof reply === "string" || typeof reply === "bigint" ? Number(reply) : (reply as number);
  if (Number.isInteger(integer)) return integer;
  throw unexpectedResult("the Redis client did not return an integer for a script");
}

/**
 * The client returned the reply to another command, because it has lost count of its replies. The
 * receiver answers 503. Reconnect the client: until then none of its replies can be trusted.
 */
export function foreignReply(): GatewayWebhookError {
  return new GatewayWebhookError(
    "foreign_reply",
    "the Redis client returned the reply to another command: reconnect it",
  );
}

/**
 * The code of an error reply of the server, such as `NOSCRIPT`: the first word of the message. The client
 * of Upstash puts `Command failed: ` in front, unless its automatic pipelines are off. Undefined for an
 * error of the client itself, such as a closed connection.
 */
export function serverErrorCode(error: unknown): string | undefined {
  const { message } = Object(error) as { message?: unknown };
  return /^(?:Command failed: )?([A-Z]{2,}) /.exec(String(message))?.[1];
}
