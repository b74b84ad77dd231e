import { startBackgroundTimer } from "./background-timer.js";
import { createCompletionBacklog } from "./completion-backlog.js";
import { within } from "./deadline.js";
import { isPromise, type MaybePromise } from "./maybe-promise.js";
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
  readonly claim: (id: string) => MaybePromise<Claim>;
  /**
   * Renews the lease until the returned function is called, and answers copies in flight until then;
   * `onLost` hears when the lease is lost.
   */
  readonly keep: (id: string, owner: string, onLost: () => void) => () => void;
  /** Remembers `id` as handled; goes on in the background where the store does not take it. */
  readonly complete: (id: string, owner: string) => MaybePromise<void>;
  /** Gives the lease up. Where that fails, it ends by itself. */
  readonly release: (id: string, owner: string) => MaybePromise<void>;
  /** Tries once more to complete what the store has not taken yet, for `dependencyTimeoutMs` at most. */
  readonly flush: () => Promise<void>;
}

/** Renewed this often within its length, a lease outlives one failed renewal. */
const RENEWALS_PER_LEASE = 3;

/** Puts bounds and a fallback around each method of `store`. */
export function createClaims(
  store: DeliveryStore,
  times: ClaimTimes & { readonly dependencyTimeoutMs: number },
  log: Reporter["log"],
): Claims {
  const { leaseMs, retentionMs, dependencyTimeoutMs } = times;
  const claimTimes: ClaimTimes = { leaseMs, retentionMs };
  const nextOwner = createOwners();
  const bounded = <T>(method: string, result: MaybePromise<T>) =>
    within(dependencyTimeoutMs, `store.${method}`, result);
  // A claim that took most of its lease to arrive could end before it is renewed for the first time.
  const claimTimeoutMs = Math.min(dependencyTimeoutMs, leaseMs / 2);

  const backlog = createCompletionBacklog(
    async (id, owner) => bounded("complete", store.complete(id, owner, retentionMs)),
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
  /** Ids whose handler runs here, with the moment when their lease ends unless renewed. */
  const leaseEnds = new Map<string, number>();
  /** Ids that were handled here, while the store is being told. */
  const completing = new Set<string>();

  const knownHere = (id: string): Claim | undefined => {
    if (completing.has(id) || backlog.has(id)) return COMPLETED;
    const leaseEnd = leaseEnds.get(id);
    if (leaseEnd === undefined) return undefined;
    return { state: "in_flight", retryAfterMs: leaseEnd - performance.now() };
  };

  const completeLater = (id: string, owner: string, error: unknown): void => {
    log("error", "completion failed: handled, and the store is told again later", { id, error });
    backlog.add(id, owner);
  };

  const releaseFailed = (id: string, error: unknown): void => {
    log("error", "release failed: the next copy waits until the lease ends", { id, error });
  };

  const release: Claims["release"] = (id, owner) => {
    try {
      const released = bounded("release", store.release(id, owner));
      if (!isPromise(released)) return;
      return released.then(undefined, (error: unknown) => {
        releaseFailed(id, error);
      });
    } catch (error) {
      releaseFailed(id, error);
    }
  };

  return {
    claim(id) {
      const known = knownHere(id);
      if (known !== undefined) return known;
      const owner = nextOwner();
      const releaseLate = (late: ClaimResult): void => {
        // The gateway has been told to come again, and shall not find its own claim in the way.
        if (readClaim(late, owner).state === "claimed") void release(id, owner);
      };
      const readSettled = (result: ClaimResult): MaybePromise<Claim> => {
        const claim = readClaim(result, owner);
        const knownMeanwhile = knownHere(id);
        if (claim.state !== "claimed" || knownMeanwhile === undefined) return claim;
        const released = release(id, owner);
        return isPromise(released) ? released.then(() => knownMeanwhile) : knownMeanwhile;
      };
      try {
        const claiming = store.claim(id, owner, claimTimes);
        const result = within(claimTimeoutMs, "store.claim", claiming, releaseLate);
        return isPromise(result) ? result.then(readSettled, unavailable) : readClaim(result, owner);
      } catch (error) {
        return unavailable(error);
      }
    },

    keep(id, owner, onLost) {
      let stopTimer: () => void;
      let stopped = false;
      leaseEnds.set(id, performance.now() + leaseMs);
      const schedule = (): void => {
        stopTimer = startBackgroundTimer(leaseMs / RENEWALS_PER_LEASE, () => void renew());
      };
      const renew = async (): Promise<void> => {
        const leaseEnd = performance.now() + leaseMs;
        let isHeld: boolean;
        try {
          isHeld = await bounded("renew", store.renew(id, owner, leaseMs));
          if (isHeld && !stopped) leaseEnds.set(id, leaseEnd);
        } catch (error) {
          log("error", "renewal of the lease failed: tried again until it ends", { id, error });
          isHeld = performance.now() < (leaseEnds.get(id) ?? 0);
        }
        if (stopped) return;
        if (isHeld) schedule();
        else onLost();
      };
      schedule();
      return () => {
        stopped = true;
        stopTimer();
        leaseEnds.delete(id);
      };
    },

    complete(id, owner) {
      try {
        const completed = bounded("complete", store.complete(id, owner, retentionMs));
        if (!isPromise(completed)) return;
        completing.add(id);
        return completed.then(
          () => {
            completing.delete(id);
          },
          (error: unknown) => {
            completeLater(id, owner, error);
            completing.delete(id);
          },
        );
      } catch (error) {
        completeLater(id, owner, error);
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

/**
 * Names owners: a random part for this receiver and a counter. The random part waits for the first
 * claim, since workers give out no random numbers while a module loads.
 */
function createOwners(): () => string {
  let prefix: string | undefined;
  let count = 0;
  return () => {
    prefix ??= crypto.randomUUID();
    count += 1;
    return `${prefix}-${String(count)}`;
  };
}
