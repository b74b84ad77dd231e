/** Why an adapter has no body: the outcome of the same name. A minor version may add members. */
export type UnreadableReason = "body_too_large" | "body_timeout" | "body_consumed";

/**
 * What an adapter passes to `receive({ body })` if it could not read the body. `readNodeBody` makes it. If
 * you read the body yourself: `new UnreadableBody("body_too_large", bytes)` beyond `maxBodyBytes`.
 *
 * A class, because no JSON can be an instance of it: a parsed body passed by mistake never counts as one.
 */
export class UnreadableBody {
  constructor(
    /** Why there is no body. */
    readonly reason: UnreadableReason,
    /** Bytes that were received until then. */
    readonly bytes: number,
    /** A sentence for the log that says what to change. */
    readonly advice?: string,
  ) {}

  /** Whether the sender may still be uploading. If so, close its connection after the answer. */
  get isUnfinished(): boolean {
    return this.reason !== "body_consumed";
  }
}
