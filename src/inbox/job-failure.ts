/** What an engine is told of a job that failed. */
export class JobFailure extends Error {
  override readonly name = "JobFailure";
  /** Milliseconds until the next run, where the handler named them. */
  readonly retryAfterMs: number | undefined;

  /**
   * Of what a handler threw, which may be anything: engines read `message` and `stack`, and some give
   * the names and messages of their own errors a meaning, which a handler that uses the same engine
   * must not trigger.
   */
  constructor(cause: unknown, retryAfterMs?: number) {
    super(describe(cause), { cause });
    this.retryAfterMs = retryAfterMs;
    const stack = stackOf(cause);
    if (stack !== undefined) this.stack = stack;
  }
}

function describe(error: unknown): string {
  try {
    // Never what was thrown alone: it may be the very text that an engine looks for.
    return error instanceof Error ? `${error.name}: ${error.message}` : `thrown: ${String(error)}`;
  } catch {
    return "an error that cannot be read";
  }
}

function stackOf(error: unknown): string | undefined {
  try {
    const stack: unknown = error instanceof Error ? error.stack : undefined;
    return typeof stack === "string" ? stack : undefined;
  } catch {
    return undefined;
  }
}
