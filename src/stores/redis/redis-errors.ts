/**
 * The store did not send the command: the client is not connected, or 10 000 calls already wait for
 * answers. The receiver answers 503, and the gateway sends the delivery again.
 */
export class RedisUnavailableError extends Error {
  override readonly name = "RedisUnavailableError";
  /** Stable, so that code can branch on it. */
  readonly code = "redis_unavailable";
}

/**
 * The client returned the reply to another command, because it has lost count of its replies. The
 * receiver answers 503. Reconnect the client: until then none of its replies can be trusted.
 */
export class ForeignReplyError extends Error {
  override readonly name = "ForeignReplyError";
  /** Stable, so that code can branch on it. */
  readonly code = "foreign_reply";

  constructor() {
    super("the Redis client returned the reply to another command: reconnect it");
  }
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
