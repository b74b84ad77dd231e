/** The script was not sent, so nothing of it happened. A claim is answered 503, so nothing is lost. */
export class RedisUnavailableError extends Error {
  override readonly name = "RedisUnavailableError";
  /** Stable, so that code can branch on it. */
  readonly code = "redis_unavailable";
}
