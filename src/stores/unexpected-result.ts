/** A store, or the client behind it, answered what its contract does not know. Answered 503. */
export class UnexpectedResultError extends TypeError {
  override readonly name = "UnexpectedResultError";
  /** Stable, so that code can branch on it. */
  readonly code = "unexpected_result";
}
