import type { MaybePromise } from "../common/promises.js";

/** What a store says to a claim. */
export type ClaimResult =
  /** The delivery is the caller's. `takeover`: an earlier lease on it ended without a verdict. */
  | { readonly state: "claimed"; readonly takeover: boolean }
  /** Somebody else holds it, for `retryAfterMs` milliseconds more unless the lease is renewed. */
  | { readonly state: "in_flight"; readonly retryAfterMs: number }
  /** It was handled before, within the retention. */
  | { readonly state: "completed" };

/** Options of `claim`. A minor version may add members, which a store may ignore. */
export interface ClaimOptions {
  /** Length of the lease in milliseconds, unless it is renewed. */
  readonly leaseMs: number;
  /** How long the store must remember the key, in milliseconds, even if only as an ended lease. */
  readonly retentionMs: number;
}

/** Options of `renew`. A minor version may add members, which a store may ignore. */
export interface RenewOptions {
  /** Length of the lease in milliseconds, from now. */
  readonly leaseMs: number;
}

/** Options of `complete`. A minor version may add members, which a store may ignore. */
export interface CompleteOptions {
  /** How long the store must remember the key as handled, in milliseconds from now. */
  readonly retentionMs: number;
}

/**
 * Remembers which deliveries were handled. A claim is a lease with an owner: `claim` before the
 * handler, `complete` after it, `release` when it failed, `renew` while it runs.
 *
 * Every method is one atomic operation, judged by the store's own clock. A method that throws or
 * rejects is answered as unavailable; one that hangs is given up after `dependencyTimeoutMs`. `key`
 * is the delivery id, 1 to 128 characters of `[0-9A-Za-z._-]`.
 */
export interface DeliveryStore {
  /**
   * Takes the lease on `key` for `owner`. The same owner claims again what it still holds (a client
   * may re-send after a reconnect), as what it was. After the lease has ended the claim is a takeover.
   */
  claim(key: string, owner: string, options: ClaimOptions): MaybePromise<ClaimResult>;
  /** Extends the lease to `leaseMs` from now. False: it is lost, to its end or to another owner. */
  renew(key: string, owner: string, options: RenewOptions): MaybePromise<boolean>;
  /**
   * Remembers `key` as handled for `retentionMs`. Set once and never undone, and never refused for a
   * lost lease: the effect happened, whoever holds the lease now.
   */
  complete(key: string, owner: string, options: CompleteOptions): MaybePromise<void>;
  /**
   * Gives the lease up so that the next copy can claim. Does nothing for anyone but its owner. A claim
   * is forgotten, as if it had never been; a takeover is ended instead and kept like any ended lease,
   * so that each claim up to the completion is a takeover too.
   */
  release(key: string, owner: string): MaybePromise<void>;
}
