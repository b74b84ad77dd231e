import { COMPLETED, readClaim, unavailable, type Claim } from "./claim.js";
import { createCompletionBacklog } from "./completion-backlog.js";
import { DeadlineError, within } from "../common/timers.js";
import { createLeaseRenewals, type LeaseRenewals } from "./lease-renewal.js";
import { isPromise, type MaybeLater } from "../common/promises.js";
import { createOwners } from "./owners.js";
import type { Reporter } from "../answer/report.js";
import type {
  ClaimOptions,
  ClaimResult,
  CompleteOptions,
  DeliveryStore,
  RenewOptions,
} from "../stores/delivery-store.js";

/** What the store has not taken yet. In an object, as a promise of a promise would wait for both. */
export interface Unfinished {
  /** Resolves when the store has taken it, or it is given up. */
  readonly work: Promise<void>;
}

/** The store as the receiver uses it: every call is bounded, and none throws or rejects. */
export interface Claims {
  /** Takes the lease on `id` for a new owner. */
  readonly claim: (id: string) => MaybeLater<Claim>;
  /** Renews the lease while the handler runs; until then redeliveries are in flight. */
  readonly keep: LeaseRenewals["keep"];
  /** Remembers `id` as handled; goes on in the background where the store does not take it. */
  readonly complete: (id: string, owner: string) => MaybeLater<Unfinished | undefined>;
  /** Gives the lease up. Where that fails, it ends by itself. */
  readonly release: (id: string, owner: string) => MaybeLater<void>;
  /** Tries once more to complete what the store has not taken yet, for `dependencyTimeoutMs` at most. */
  readonly flush: (timeoutMs: number) => Promise<void>;
}

/** Puts bounds and a fallback around each method of `store`. */
export function createClaims(
  store: DeliveryStore,
  times: ClaimOptions & { readonly dependencyTimeoutMs: number },
  log: Reporter["log"],
): Claims {
  const { leaseMs, retentionMs, dependencyTimeoutMs } = times;
  // Made once, and not for each delivery.
  const claimOptions: ClaimOptions = { leaseMs, retentionMs };
  const renewOptions: RenewOptions = { leaseMs };
  const completeOptions: CompleteOptions = { retentionMs };
  const nextOwner = createOwners();
  const bounded = <T>(method: string, result: PromiseLike<T>, ms = dependencyTimeoutMs) =>
    within(ms, `store.${method}`, result);
  // A claim that took most of its lease to arrive could end before it is renewed for the first time.
  const claimTimeoutMs = Math.min(dependencyTimeoutMs, leaseMs / 2);
  // After a renewal whose answer is lost, there has to be time for the next before the lease ends.
  const renewTimeoutMs = Math.min(dependencyTimeoutMs, leaseMs / 3);

  const backlog = createCompletionBacklog(
    async (id, owner) => {
      const completed = store.complete(id, owner, completeOptions);
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
      const renewed = store.renew(id, owner, renewOptions);
      return isPromise(renewed) ? bounded("renew", renewed, renewTimeoutMs) : renewed;
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

  const retryCompletion = (id: string, owner: string, error: unknown): Unfinished => {
    log("error", "completion failed: handled, and the store is told again later", { id, error });
    return { work: backlog.add(id, owner) };
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
    const leasedAt = performance.now();
    // A promise of ours: the store's may be any thenable.
    const claimed = Promise.resolve(claiming).then((result) => readClaim(result, owner));
    const releaseLate = (): Promise<void> =>
      claimed.then(
        (late) => (late.state === "claimed" ? release(id, owner) : undefined),
        () => undefined,
      );
    const readSettled = (claim: Claim): MaybeLater<Claim> => {
      if (claim.state !== "claimed") return claim;
      const knownMeanwhile = knownHere(id);
      if (knownMeanwhile === undefined) return { ...claim, leasedAt };
      const released = release(id, owner);
      return released === undefined ? knownMeanwhile : released.then(() => knownMeanwhile);
    };
    return within(claimTimeoutMs, "store.claim", claimed).then(readSettled, (error: unknown) => {
      // The gateway is asked to send it again, and must not find its own claim in the way.
      const unfinished = error instanceof DeadlineError ? releaseLate() : undefined;
      return { state: "unavailable", error, unfinished };
    });
  };

  const claim = (id: string): MaybeLater<Claim> => {
    const known = knownHere(id);
    if (known !== undefined) return known;
    const owner = nextOwner();
    try {
      const claiming = store.claim(id, owner, claimOptions);
      return isPromise(claiming) ? claimLater(id, owner, claiming) : readClaim(claiming, owner);
    } catch (error) {
      return unavailable(error);
    }
  };

  const completeLater = (
    id: string,
    owner: string,
    completed: PromiseLike<void>,
  ): Promise<Unfinished | undefined> => {
    completing.add(id);
    return bounded("complete", completed).then(
      () => {
        completing.delete(id);
        return undefined;
      },
      (error: unknown) => {
        const unfinished = retryCompletion(id, owner, error);
        completing.delete(id);
        return unfinished;
      },
    );
  };

  return {
    claim(id) {
      const overdue = renewals.overdue(id);
      return overdue === undefined ? claim(id) : overdue.then(() => claim(id));
    },

    keep: renewals.keep,

    complete(id, owner) {
      try {
        const completed = store.complete(id, owner, completeOptions);
        return isPromise(completed) ? completeLater(id, owner, completed) : undefined;
      } catch (error) {
        return retryCompletion(id, owner, error);
      }
    },

    release,
    async flush(timeoutMs) {
      const flushMs = Math.min(timeoutMs, dependencyTimeoutMs);
      await within(flushMs, "the last completions", backlog.flush()).catch(() => {
        // Given up: a shutdown does not wait for a store that is away.
      });
    },
  };
}
