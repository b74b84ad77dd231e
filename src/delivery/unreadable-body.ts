/** Why an adapter has no body to pass on; the outcome of the same name. */
export type UnreadableReason = "body_too_large" | "body_timeout" | "body_consumed";

/**
 * What an adapter passes to `receive` in place of a body that it could not read. A class, as no JSON
 * makes an instance of it: where a parsed body is passed by mistake, its sender has no say here.
 */
export class UnreadableBody {
  constructor(
    readonly reason: UnreadableReason,
    /** Bytes that were received before. */
    readonly bytes: number,
    /** What to change, for the log. */
    readonly advice?: string,
  ) {}

  /** Whether the sender may still be uploading, so that its connection has to be closed. */
  get isUnfinished(): boolean {
    return this.reason !== "body_consumed";
  }
}
