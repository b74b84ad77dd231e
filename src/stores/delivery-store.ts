import type { MaybePromise } from "../common/promises.js";

/** The result of `DeliveryStore.claim`. */
export type ClaimResult =
  /**
   * The caller holds the lease and handles the delivery. `takeover`: an earlier lease on the key ended
   * without `complete` or `release`, so an earlier run may have done part of the work.
   */
  | { readonly state: "claimed"; readonly takeover: boolean }
  /** Another owner holds the lease, for `retryAfterMs` milliseconds more unless it is renewed. */
  | { readonly state: "in_flight"; readonly retryAfterMs: number }
  /** The delivery was handled before, within the retention. */
  | { readonly state: "completed" };

/** Options of `DeliveryStore.claim`. A minor version may add members, which a store may ignore. */
export interface ClaimOptions {
  /** Length of the lease in milliseconds, unless it is renewed. */
  readonly leaseMs: number;
  /** How long the store must remember the key, in milliseconds, even if only as an ended lease. */
  readonly retentionMs: number;
}

/** Options of `DeliveryStore.renew`. A minor version may add members, which a store may ignore. */
export interface RenewOptions {
  /** New length of the lease in milliseconds, from now. */
  readonly leaseMs: number;
}

/** Options of `DeliveryStore.complete`. A minor version may add members, which a store may ignore. */
export interface CompleteOptions {
  /** How long the store must remember the key as completed, in milliseconds from now. */
  readonly retentionMs: number;
}

/** What a receiver gives its store when it is made. A minor version may add members. */
export interface StoreConnection {
  /** Writes a line to the receiver's log. Never throws. */
  warn(message: string): void;
  /** Counts in `gateway_webhook.store.forgets` that ids are, or may be, forgotten within their retention. Never throws. */
  noteForgets(): void;
  /** The receiver's option: after it, the receiver no longer waits for a call. Milliseconds. */
  readonly dependencyTimeoutMs: number;
}

/**
 * Remembers which deliveries were handled. A claim is a lease with an owner: the receiver calls `claim`
 * before the handler, `renew` while it runs, and afterwards `complete`, or `release` if it failed.
 *
 * Every method is one atomic operation by the store's own clock, and may be sync or async. If `claim`
 * throws or rejects, or takes longer than `dependencyTimeoutMs`, the receiver answers 503
 * `store_unavailable`, and releases the claim, since it may have been granted. `key` is 1 to 128 characters of
 * `[0-9A-Za-z._-]`: the delivery id. Keys of our own also contain `#`, which no sender can: `record#…` for `once`,
 * `job#…` for a worker of an inbox. `owner` is a string that is unique to one claim.
 *
 * Test a store of your own with `deliveryStoreContract` of `identity-gateway-webhooks/testing`.
 *
 * @example A minimal store for one process. It keeps the contract, but its maps grow without bound.
 * ```ts
 * const rows = new Map<string, { owner: string; leaseEnd: number; takeover: boolean }>();
 * const completed = new Map<string, number>();
 * const isCompleted = (key: string) => (completed.get(key) ?? 0) > Date.now();
 *
 * const store: DeliveryStore = {
 *   claim(key, owner, { leaseMs }) {
 *     if (isCompleted(key)) return { state: "completed" };
 *     const row = rows.get(key);
 *     const leftMs = row === undefined ? 0 : row.leaseEnd - Date.now();
 *     if (row !== undefined && leftMs > 0 && row.owner !== owner) {
 *       return { state: "in_flight", retryAfterMs: leftMs };
 *     }
 *     const takeover = row !== undefined && (row.takeover || leftMs <= 0);
 *     rows.set(key, { owner, leaseEnd: Date.now() + leaseMs, takeover });
 *     return { state: "claimed", takeover };
 *   },
 *   renew(key, owner, { leaseMs }) {
 *     const row = rows.get(key);
 *     if (row?.owner !== owner || row.leaseEnd <= Date.now()) return false;
 *     row.leaseEnd = Date.now() + leaseMs;
 *     return true;
 *   },
 *   complete(key, _owner, { retentionMs }) {
 *     rows.delete(key);
 *     if (!isCompleted(key)) completed.set(key, Date.now() + retentionMs);
 *   },
 *   release(key, owner) {
 *     const row = rows.get(key);
 *     if (row?.owner !== owner) return;
 *     if (row.takeover) row.leaseEnd = Date.now();
 *     else rows.delete(key);
 *   },
 * };
 * ```
 */
export interface DeliveryStore {
  /**
   * What keeps its keys apart from those of other stores in the same database: the name of its table, or its
   * prefix. Optional; only for the log line that says which receivers share their records (`once`). A store that
   * wraps another one passes it on; `{ ...store }` does.
   */
  readonly scope?: string | undefined;
  /**
   * Whether it forgets every id when the process ends. Optional: `webhooks reconcile --recover` refuses such a store. A
   * store that wraps another one passes it on; `{ ...store }` does.
   */
  readonly isInMemory?: boolean | undefined;
  /**
   * Takes the lease on `key` for `owner`. The owner of a lease that has not ended may claim again, since a
   * client may resend a command after a reconnect; `takeover` stays as it was. A claim after the lease has
   * ended is a takeover.
   */
  claim(key: string, owner: string, options: ClaimOptions): MaybePromise<ClaimResult>;
  /**
   * Extends the lease to `leaseMs` from now. Returns false if the lease is lost: it has ended, another
   * owner has it, or the key is completed.
   */
  renew(key: string, owner: string, options: RenewOptions): MaybePromise<boolean>;
  /**
   * Remembers `key` as completed for `retentionMs`. The first completion counts and is never undone. A
   * lost lease is no reason to refuse: the handler has done the work, even if another owner has the lease.
   */
  complete(key: string, owner: string, options: CompleteOptions): MaybePromise<void>;
  /**
   * Ends the lease, so that the next redelivery can claim at once. Does nothing for any other owner. A
   * first claim is forgotten. A takeover is kept as an ended lease, so that each claim until the
   * completion is a takeover too.
   */
  release(key: string, owner: string): MaybePromise<void>;
  /**
   * Called by each receiver that is made with the store, before its first delivery. Optional: for a store
   * that limits its own calls, or has something to tell the operator. A store that wraps
   * another one passes it on; `{ ...store }` does. What it throws, `createWebhookReceiver` throws.
   */
  connectReceiver?(receiver: StoreConnection): void;
}

/**
 * The results of a claim that carry no figure. Every store returns these constants, so that a new delivery
 * allocates none.
 */
export const CLAIMED = Object.freeze({ state: "claimed", takeover: false } as const);
/** A claim after an earlier lease ended without completion or release. */
export const TAKEN_OVER = Object.freeze({ state: "claimed", takeover: true } as const);
/** Also the result of `TransactionalStore.process` for a key that is remembered. */
export const COMPLETED = Object.freeze({ state: "completed" } as const);

/**
 * The result of a claim on a key whose lease another owner holds. `retryAfterMs`: what is left of the
 * lease, in milliseconds.
 */
export function inFlight(retryAfterMs: number) {
  return { state: "in_flight", retryAfterMs } as const;
}
