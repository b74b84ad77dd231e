import type { ClaimResult } from "../stores/delivery-store.js";
import { UnexpectedResultError } from "../stores/claim-results.js";

/** What became of a claim. */
export type Claim =
  | {
      readonly state: "claimed";
      readonly owner: string;
      readonly takeover: boolean;
      /** When the store was asked, by `performance.now()`; undefined where it answered at once. */
      readonly leasedAt?: number;
    }
  | Exclude<ClaimResult, { state: "claimed" }>
  | {
      readonly state: "unavailable";
      readonly error: unknown;
      /** Releases the claim should the store still grant it. */
      readonly unfinished?: Promise<void> | undefined;
    };

export const COMPLETED: Claim = { state: "completed" };

/** The store failed, or answered what its contract does not know. */
export function unavailable(error: unknown): Claim {
  return { state: "unavailable", error };
}

/** A store is partners' code too: what it answers is read as strictly as a request. */
export function readClaim(result: ClaimResult | undefined, owner: string): Claim {
  try {
    switch (result?.state) {
      case "claimed":
        return { state: "claimed", owner, takeover: (result.takeover as unknown) === true };
      case "in_flight":
      case "completed":
        return result;
      default:
        return unavailable(new UnexpectedResultError("store.claim returned no claim result"));
    }
  } catch (error) {
    return unavailable(error);
  }
}
