/** What became of one `process`. */
export type ProcessResult =
  /** The work ran, and its writes and the key are committed together. */
  | { readonly state: "processed" }
  /** Another copy is being processed right now. */
  | { readonly state: "in_flight"; readonly retryAfterMs: number }
  /** The key was committed before; the work did not run. */
  | { readonly state: "completed" };

/** What a store may know of the delivery that it runs work for. */
export interface WorkFacts {
  /** Whether an earlier run, whose effects are in no transaction of this store, ended without a verdict. */
  readonly takeover: boolean;
}

/**
 * The second shape of a store: the row that remembers a delivery and the handler's own writes are one
 * transaction of one database, so that both are there or neither.
 */
export interface TransactionalStore<Tx> {
  /**
   * How many deliveries the store can run at once: the receiver's default for `maxConcurrentDeliveries`.
   * At least 1. Left out where the store does not know; `postgresTransactions` has one less than the `max`
   * of its pool, so that one client is free for the rest of the application.
   */
  readonly maxConcurrentDeliveries?: number | undefined;
  /**
   * Runs `work` in a transaction that also remembers `key` for `retentionMs` milliseconds, by the
   * store's own clock, and commits both. Does not run it for a key that is remembered, nor beside
   * another run for the same key. `facts` may be left out where there is no `takeover` to tell: it is
   * for a key that a `DeliveryStore` has leased on the same table, and `context.takeover` says it on.
   *
   * Rejects with what `work` rejected with, after both are rolled back; and with the database's error
   * where it fails. After an error at COMMIT nobody knows whether both are there or neither: the next
   * `process` of the key tells.
   */
  process(
    key: string,
    work: (tx: Tx, facts?: WorkFacts) => Promise<void>,
    times: { readonly retentionMs: number },
  ): Promise<ProcessResult>;
}
