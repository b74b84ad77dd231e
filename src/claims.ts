import { createCompletionBacklog } from "./completion-backlog.js";
import { within } from "./deadline.js";
import { createLeaseRenewals, type LeaseRenewals } from "./lease-renewal.js";
import { isPromise, type MaybeLater } from "./maybe-promise.js";
import { createOwners } from "./owners.js";
import type { Reporter } from "./report.js";
import type { ClaimResult, ClaimTimes, DeliveryStore } from "./stores/delivery-store.js";

/** What became of a claim. */
export type Claim =
  | { readonly state: "claimed"; readonly owner: string; readonly takeover: boolean }
  | Exclude<ClaimResult, { state: "claimed" }>
  | { readonly state: "unavailable"; readonly error: unknown };

/** The store as the receiver uses it: every call is bounded, and none throws or rejects. */
export interface Claims {
  /** Takes the lease on `id` for a new owner. */
  readonly claim: (id: string) => MaybeLater<Claim>;
  /** Renews the lease while the handler runs, and answers copies in flight until then. */
  readonly keep: LeaseRenewals["keep"];
  /** Remembers `id` as handled; goes on in the background where the store does not take it. */
  readonly complete: (id: string, owner: string) => MaybeLater<void>;
  /** Gives the lease up. Where that fails, it ends by itself. */
  readonly release: (id: string, owner: string) => MaybeLater<void>;
  /** Tries once more to complete what the store has not taken yet, for `dependencyTimeoutMs` at most. */
  readonly flush: () => Promise<void>;
}

/** Puts bounds and a fallback around each method of `store`. */
export function createClaims(
  store: DeliveryStore,
  times: ClaimTimes & { readonly dependencyTimeoutMs: number },
  log: Reporter["log"],
): Claims {
  const { leaseMs, retentionMs, dependencyTimeoutMs } = times;
  const claimTimes: ClaimTimes = { leaseMs, retentionMs };
  const nextOwner = createOwners();
  const bounded = <T>(method: string, result: PromiseLike<T>) =>
    within(dependencyTimeoutMs, `store.${method}`, result);
  // A claim that took most of its lease to arrive could end before it is renewed for the first time.
  const claimTimeoutMs = Math.min(dependencyTimeoutMs, leaseMs / 2);

  const backlog = createCompletionBacklog(
    async (id, owner) => {
      const completed = store.complete(id, owner, retentionMs);
      if (isPromise(completed)) await bounded("complete", completed);
    },
    (id) => {
      log(
        "error",
        "completion given up: too many wait for the store; a copy may be handled again",
        { id },
      );
    },
  );

  // What this process knows better than the store, whose lease may have ended meanwhile: after a
  // pause of the process that was longer than the lease, or while the store was away.
  const renewals = createLeaseRenewals(
    async (id, owner) => {
      const renewed = store.renew(id, owner, leaseMs);
      return isPromise(renewed) ? bounded("renew", renewed) : renewed;
    },
    leaseMs,
    (id, error) => {
      log("error", "renewal of the lease failed: tried again until it ends", { id, error });
    },
  );
  /** Ids that were handled here, while the store is being told. */
  const completing = new Set<string>();

  const knownHere = (id: string): Claim | undefined => {
    if ((completing.size > 0 && completing.has(id)) || backlog.has(id)) return COMPLETED;
    const retryAfterMs = renewals.remainingMs(id);
    return retryAfterMs === undefined ? undefined : { state: "in_flight", retryAfterMs };
  };

  const retryCompletion = (id: string, owner: string, error: unknown): void => {
    log("error", "completion failed: handled, and the store is told again later", { id, error });
    backlog.add(id, owner);
  };

  const releaseFailed = (id: string, error: unknown): void => {
    log("error", "release failed: the next copy waits until the lease ends", { id, error });
  };

  // What waits for a promise stands in a function of its own, here and below: a delivery whose store
  // answers at once then makes no closure.
  const releaseLater = (id: string, released: PromiseLike<void>): Promise<void> =>
    bounded("release", released).then(undefined, (error: unknown) => {
      releaseFailed(id, error);
    });

  const release: Claims["release"] = (id, owner) => {
    try {
      const released = store.release(id, owner);
      if (isPromise(released)) return releaseLater(id, released);
    } catch (error) {
      releaseFailed(id, error);
    }
  };

  const claimLater = (
    id: string,
    owner: string,
    claiming: PromiseLike<ClaimResult>,
  ): Promise<Claim> => {
    const releaseLate = (late: ClaimResult): void => {
      // The gateway has been told to come again, and shall not find its own claim in the way.
      if (readClaim(late, owner).state === "claimed") void release(id, owner);
    };
    const readSettled = (result: ClaimResult): MaybeLater<Claim> => {
      const claim = readClaim(result, owner);
      const knownMeanwhile = knownHere(id);
      if (claim.state !== "claimed" || knownMeanwhile === undefined) return claim;
      const released = release(id, owner);
      return released === undefined ? knownMeanwhile : released.then(() => knownMeanwhile);
    };
    return within(claimTimeoutMs, "store.claim", claiming, releaseLate).then(
      readSettled,
      unavailable,
    );
  };

  const completeLater = (
    id: string,
    owner: string,
    completed: PromiseLike<void>,
  ): Promise<void> => {
    completing.add(id);
    return bounded("complete", completed).then(
      () => {
        completing.delete(id);
      },
      (error: unknown) => {
        retryCompletion(id, owner, error);
        completing.delete(id);
      },
    );
  };

  return {
    claim(id) {
      const known = knownHere(id);
      if (known !== undefined) return known;
      const owner = nextOwner();
      try {
        const claiming = store.claim(id, owner, claimTimes);
        return isPromise(claiming) ? claimLater(id, owner, claiming) : readClaim(claiming, owner);
      } catch (error) {
        return unavailable(error);
      }
    },

    keep: renewals.keep,

    complete(id, owner) {
      try {
        const completed = store.complete(id, owner, retentionMs);
        if (isPromise(completed)) return completeLater(id, owner, completed);
      } catch (error) {
        retryCompletion(id, owner, error);
      }
    },

    release,
    async flush() {
      await within(dependencyTimeoutMs, "the last completions", backlog.flush()).catch(() => {
        // Given up: whoever shuts down is not to wait for a store that is away.
      });
    },
  };
}

const COMPLETED: Claim = { state: "completed" };

function unavailable(error: unknown): Claim {
  return { state: "unavailable", error };
}

/** A store is partners' code too: what it answers is read as strictly as a request. */
function readClaim(result: ClaimResult | undefined, owner: string): Claim {
  try {
    switch (result?.state) {
      case "claimed":
        return { state: "claimed", owner, takeover: (result.takeover as unknown) === true };
      case "in_flight":
      case "completed":
        return result;
      default:
        return unavailable(new TypeError("store.claim returned no claim result"));
    }
  } catch (error) {
    return unavailable(error);
  }
}
