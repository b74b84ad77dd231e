import type { StoreConnection } from "./delivery-store.js";

/** The result of `TransactionalStore.process`. */
export type ProcessResult =
  /** The work ran. Its writes and the key are committed together. */
  | { readonly state: "processed" }
  /** Another delivery of the same key is being processed; it may take `retryAfterMs` milliseconds more. */
  | {
      readonly state: "in_flight";
      readonly retryAfterMs: number;
      /** It is the record that is being processed, under another key. */
      readonly sameRecord?: true | undefined;
    }
  /** The key was committed before. The work did not run. */
  | {
      readonly state: "completed";
      /** It is the record that was committed before, under another key; this key is committed now. */
      readonly sameRecord?: true | undefined;
    };

/** How `TransactionalStore.process` remembers a delivery. A minor version may add members. */
export interface ProcessOptions {
  /** How long the keys are remembered, in milliseconds, by the store's own clock. */
  readonly retentionMs: number;
  /** A second key for the same transaction: that of the record. Only a store that `remembersRecords` gets one. */
  readonly recordKey?: string | undefined;
}

/** What a store may know about the delivery that it runs work for. A minor version may add members. */
export interface WorkFacts {
  /** Whether an earlier run, outside of this store's transactions, ended without completion or release. */
  readonly takeover: boolean;
}

/**
 * The second kind of store: the row that remembers a delivery and the handler's own writes are one
 * transaction of one database, so both are committed or neither is. The handler writes through
 * `context.tx`. `postgresTransactions`, `mysqlTransactions` and `sqliteTransactions` make one.
 *
 * Test a store of your own with `transactionalStoreContract` of `identity-gateway-webhooks/testing`.
 *
 * @example
 * ```ts
 * const receiver = createWebhookReceiver({
 *   secret,
 *   store: postgresTransactions({ pool }),
 *   handlers: {
 *     new_alarm: async (alarm, { tx }) => {
 *       await tx.query("INSERT INTO alarms (id, text) VALUES ($1, $2)", [alarm.id, alarm.text]);
 *     },
 *   },
 * });
 * ```
 */
export interface TransactionalStore<Tx> {
  /**
   * How many deliveries the store can run at once, at least 1. The receiver runs no more, whatever its
   * option `maxConcurrentDeliveries`; others wait for their turn. Leave it out if the store does not know.
   * `postgresTransactions` has one less than the `max` of its pool, which leaves one client to the rest of
   * the application; `sqliteTransactions` has 1.
   */
  readonly maxConcurrentDeliveries?: number | undefined;
  /**
   * Whether `process` takes the option `recordKey`. Without it the receiver's option `once` must be `"delivery"`.
   */
  readonly remembersRecords?: true | undefined;
  /**
   * Runs `work` in a transaction that also remembers `key` for `retentionMs` milliseconds, by the store's
   * own clock, and commits both. Does not run it for a remembered key, or while the same key is being
   * processed. `facts` becomes `context.takeover`; leave it out unless a `DeliveryStore` leases keys in
   * the same table.
   *
   * With `recordKey` it does the same for both keys in the one transaction, first `key` and then `recordKey`, and
   * waits for neither. If the record was committed before, it commits `key` alone and answers `completed`. If the
   * record is being processed, or a deadlock or a serialization failure meets it, nothing is written, and the answer is
   * `in_flight`. Both have `sameRecord`.
   *
   * Rejects with the error of `work` after both are rolled back, and with the database's error if the
   * database fails. After an error at COMMIT the result is unknown until the next `process` of the key.
   */
  process(
    key: string,
    work: (tx: Tx, facts?: WorkFacts) => Promise<void>,
    options: ProcessOptions,
  ): Promise<ProcessResult>;
  /** As in `DeliveryStore`. */
  connectReceiver?(receiver: StoreConnection): void;
}

/**
 * The `maxConcurrentDeliveries` of a store whose deliveries each hold a connection of a pool of `max`
 * connections. One stays free for other users of the pool, unless it is the only one. Nothing if `max` is
 * no such number.
 */
export function concurrencyOfPool(max: unknown): { maxConcurrentDeliveries?: number } {
  if (typeof max !== "number" || !(max >= 1)) return {};
  return { maxConcurrentDeliveries: Math.max(1, Math.floor(max) - 1) };
}
