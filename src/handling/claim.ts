import { GatewayWebhookError } from "../common/errors.js";
import { inFlight, type ClaimResult } from "../stores/delivery-store.js";

/** The result of a claim, as the receiver uses it. */
export type Claim =
  | {
      readonly state: "claimed";
      readonly owner: string;
      readonly takeover: boolean;
      /** When the store was called, by `performance.now()`; undefined if it answered synchronously. */
      readonly leasedAt?: number;
    }
  | Exclude<ClaimResult, { state: "claimed" }>
  | {
      readonly state: "unavailable";
      readonly error: unknown;
      /** Releases the claim if the store grants it after all. */
      readonly unfinished?: Promise<void> | undefined;
    };

/** The times of claims, in milliseconds. */
export interface ClaimTimes {
  readonly leaseMs: number;
  readonly retentionMs: number;
  readonly dependencyTimeoutMs: number;
}

/**
 * A completion that the store has not taken yet. Wrapped in an object, because a promise that resolved to
 * the promise `work` would wait for it too.
 */
export interface Unfinished {
  /** Resolves when the store has taken the completion, or it is given up. */
  readonly work: Promise<void>;
}

/** The claim of a delivery that is known to be handled. */
export const COMPLETED: Claim = { state: "completed" };

/** The claim of a store that failed, or that answered something its contract does not allow. */
export function unavailable(error: unknown): Claim {
  return { state: "unavailable", error };
}

/** Reads a store's answer. Users write stores too, so it is checked as strictly as a request. */
export function readClaim(result: ClaimResult | undefined, owner: string): Claim {
  try {
    switch (result?.state) {
      case "claimed":
        return { state: "claimed", owner, takeover: (result.takeover as unknown) === true };
      // Copied: another member of the store's object, such as `then`, must not be taken for ours.
      case "in_flight":
        return inFlight(result.retryAfterMs);
      case "completed":
        return COMPLETED;
      default:
        return unavailable(
          new GatewayWebhookError("unexpected_result", "store.claim returned no claim result"),
        );
    }
  } catch (error) {
    return unavailable(error);
  }
}

/** Names the owner of each claim: a random part for this receiver, and a counter. */
export class OwnerNames {
  // Made at the first claim: Cloudflare Workers give no random numbers while a module loads.
  #prefix: string | undefined;
  #count = 0;

  next(): string {
    this.#prefix ??= `${crypto.randomUUID()}-`;
    this.#count += 1;
    return this.#prefix + String(this.#count);
  }
}
