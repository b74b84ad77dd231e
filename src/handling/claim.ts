import type { ClaimResult } from "../stores/delivery-store.js";

/** The result of a claim, as the receiver uses it. */
export type Claim =
  | {
      readonly state: "claimed";
      readonly owner: string;
      readonly takeover: boolean;
      /** When the store was called, by `performance.now()`; undefined if it answered synchronously. */
      readonly leasedAt?: number;
    }
  | (Exclude<ClaimResult, { state: "claimed" }> & {
      /** The record is in flight or handled under another delivery id. */
      readonly sameRecord?: true | undefined;
    })
  | {
      readonly state: "unavailable";
      readonly error: unknown;
      /** Releases the claim, which the store may have granted or may still grant. */
      readonly unfinished?: Promise<void> | undefined;
    };

/** The times of claims, in milliseconds. */
export interface ClaimTimes {
  readonly leaseMs: number;
  readonly retentionMs: number;
  readonly dependencyTimeoutMs: number;
}

/**
 * A completion or release that the store has not taken yet. Wrapped in an object, because a promise that
 * resolved to the promise `work` would wait for it too.
 */
export interface Unfinished {
  /** Resolves when the store has taken it, or it is given up. */
  readonly work: Promise<void>;
}
