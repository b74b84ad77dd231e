/** What became of one `process`. */
export type ProcessResult =
  /** The work ran, and its writes and the key are committed together. */
  | { readonly state: "processed" }
  /** Another copy is being processed right now. */
  | { readonly state: "in_flight"; readonly retryAfterMs: number }
  /** The key was committed before; the work did not run. */
  | { readonly state: "completed" };

/**
 * The second shape of a store: the row that remembers a delivery and the handler's own writes are one
 * transaction of one database, so that both are there or neither.
 */
export interface TransactionalStore<Tx> {
  /**
   * Runs `work` in a transaction that also remembers `key` for `retentionMs` milliseconds, by the
   * store's own clock, and commits both. Does not run it for a key that is remembered, nor beside
   * another run for the same key.
   *
   * Rejects with what `work` rejected with, after both are rolled back; and with the database's error
   * where it fails. After an error at COMMIT nobody knows whether both are there or neither: the next
   * `process` of the key tells.
   */
  process(
    key: string,
    work: (tx: Tx) => Promise<void>,
    times: { readonly retentionMs: number },
  ): Promise<ProcessResult>;
}
