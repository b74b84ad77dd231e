import { unexpectedResult } from "../common/errors.js";
import { backend } from "#crypto";
import type { Log } from "../answer/logger.js";
import { DeadlineError } from "../common/timers.js";
import { isPromise, type ValueOrPromise } from "../common/promises.js";
import type { StoreCalls } from "../telemetry/tally.js";
import type { HostDeadline } from "../delivery/request.js";
import {
  inFlight,
  type ClaimOptions,
  type ClaimResult,
  type DeliveryStore,
  type RenewOptions,
} from "../stores/delivery-store.js";
import type { HandlingTimes } from "./handling.js";
import { ownerOfBoth, type RecordClaimResult } from "./once-per-record.js";
import { LeaseRenewals } from "./lease-renewals.js";
import { Settlements, type Unfinished } from "./settlements.js";

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

/** The claim of a delivery that is known to be handled. */
const COMPLETED = { state: "completed" } as const;

/** The claim of a store that failed, or that answered something its contract does not allow. */
function unavailable(error: unknown): Claim {
  return { state: "unavailable", error };
}

/** Reads a store's answer. Users write stores too, so it is checked as strictly as a request. */
function readClaim(result: RecordClaimResult | undefined, owner: string): Claim {
  try {
    switch (result?.state) {
      case "claimed":
        return { state: "claimed", owner, takeover: (result.takeover as unknown) === true };
      // Copied: another member of the store's object, such as `then`, must not be taken for ours.
      case "in_flight":
        return { ...inFlight(result.retryAfterMs), sameRecord: result.sameRecord };
      case "completed":
        return result.sameRecord ? { ...COMPLETED, sameRecord: true } : COMPLETED;
      default:
        return unavailable(unexpectedResult("store.claim returned no claim result"));
    }
  } catch (error) {
    return unavailable(error);
  }
}

type Deadline = HostDeadline | undefined;

/**
 * Claims and leases as the receiver uses them: every call of the store is bounded, and none throws or
 * rejects. Code that waits for a promise is in a separate method, so that a synchronous store costs no
 * closure.
 */
export class Claims {
  readonly #store: DeliveryStore;
  readonly #calls: StoreCalls;
  // Made once, not for each delivery.
  readonly #claimOptions: ClaimOptions;
  readonly #renewOptions: RenewOptions;
  readonly #claimTimeoutMs: number;
  readonly #renewTimeoutMs: number;
  /** Owners are unique: a random part for this receiver, and a counter. */
  #ownerPrefix: string | undefined;
  #ownerCount = 0;
  readonly settlements: Settlements;
  /**
   * The leases whose handlers run here. While a lease is renewed here, its redeliveries are `in_flight`
   * even if the store has ended the lease, during a long pause of the process or during an outage.
   */
  readonly renewals: LeaseRenewals;

  constructor(store: DeliveryStore, times: HandlingTimes, log: Log, calls: StoreCalls) {
    const { leaseMs, retentionMs, dependencyTimeoutMs } = times;
    this.#store = store;
    this.#calls = calls;
    this.#claimOptions = { leaseMs, retentionMs };
    this.#renewOptions = { leaseMs };
    // A longer claim could end its lease before the first renewal.
    this.#claimTimeoutMs = Math.min(dependencyTimeoutMs, leaseMs / 2);
    // If the answer to a renewal is lost, there must be time for the next one before the lease ends.
    this.#renewTimeoutMs = Math.min(dependencyTimeoutMs, leaseMs / 3);
    this.settlements = new Settlements(store, times, log, calls);
    this.renewals = new LeaseRenewals({
      leaseMs,
      renew: (id, owner) => this.#renew(id, owner),
      onFailed: (id, error) =>
        log.error("renewal of the lease failed: retried until the lease ends", { id, error }),
    });
  }

  /** Takes the lease on `id`, and on `recordKey` if there is one, for a new owner. */
  claim(id: string, deadline: Deadline, recordKey?: string): ValueOrPromise<Claim> {
    const lease = this.renewals.find(id) ?? this.renewals.find(recordKey);
    const overdue = lease && this.renewals.resolveOverdue(lease);
    if (overdue !== undefined) return overdue.then(() => this.claim(id, deadline, recordKey));
    const known = this.#knownHere(id, recordKey, deadline);
    if (known !== undefined) return known;
    // Made at the first claim: Cloudflare Workers give no random numbers while a module loads.
    this.#ownerPrefix ??= `${backend.randomUuid()}-`;
    this.#ownerCount += 1;
    const unique = this.#ownerPrefix + String(this.#ownerCount);
    const owner = recordKey === undefined ? unique : ownerOfBoth(unique, recordKey);
    try {
      const claiming = this.#store.claim(id, owner, this.#claimOptions);
      return isPromise(claiming)
        ? this.#claimLater(id, recordKey, owner, claiming, deadline)
        : readClaim(claiming, owner);
    } catch (error) {
      this.#calls.failed("claim");
      return unavailable(error);
    }
  }

  /** The record runs, or was handled, under another id if only its key is known here. */
  #knownHere(id: string, recordKey: string | undefined, deadline: Deadline): Claim | undefined {
    if (this.settlements.isHandled(id)) return COMPLETED;
    const own = this.renewals.find(id);
    const sameRecord = own === undefined ? true : undefined;
    if (sameRecord && this.settlements.isHandled(recordKey)) return { ...COMPLETED, sameRecord };
    const lease = own ?? this.renewals.find(recordKey);
    if (lease !== undefined) {
      return { state: "in_flight", retryAfterMs: lease.endsAt - performance.now(), sameRecord };
    }
    // The process was frozen meanwhile: the gateway has its answer, and no handler may begin now.
    return deadline?.handlerMs(1) === 0 ? unavailable(undefined) : undefined;
  }

  async #claimLater(
    id: string,
    recordKey: string | undefined,
    owner: string,
    claiming: PromiseLike<ClaimResult>,
    deadline: Deadline,
  ): Promise<Claim> {
    const leasedAt = performance.now();
    // A native promise, because the store may return any thenable.
    const claimed = Promise.resolve(claiming).then((result) => readClaim(result, owner));
    let claim: Claim;
    try {
      const timeoutMs = deadline?.handlerMs(this.#claimTimeoutMs) ?? this.#claimTimeoutMs;
      claim = await this.#calls.within(timeoutMs, "claim", claimed);
      // After a pause of the process, the answer can be read before the timer is called.
      const isOver = performance.now() - leasedAt >= this.#claimOptions.leaseMs;
      if (isOver && claim.state === "claimed") {
        throw new DeadlineError("store.claim", timeoutMs);
      }
    } catch (error) {
      return {
        state: "unavailable",
        error,
        unfinished: this.#releaseLost(id, owner, claimed, leasedAt),
      };
    }
    if (claim.state !== "claimed") return claim;
    const known = this.#knownHere(id, recordKey, deadline);
    if (known === undefined) return { ...claim, leasedAt };
    await this.settlements.settle("release", id, owner, deadline);
    return known;
  }

  /**
   * The gateway sends the delivery again, and a claim that no one waits for would refuse it. If its answer is
   * lost, the store may have granted it, or grant it after its release, so the release is repeated.
   */
  async #releaseLost(id: string, owner: string, claimed: Promise<Claim>, leasedAt: number) {
    let unfinished: Unfinished | undefined;
    try {
      if ((await claimed).state === "claimed") {
        unfinished = await this.settlements.settle("release", id, owner, undefined);
      }
    } catch {
      const until = leasedAt + this.#claimOptions.leaseMs;
      unfinished = { work: this.settlements.repeat("release", id, owner, until) };
    }
    await unfinished?.work;
  }

  #renew(id: string, owner: string): Promise<boolean> {
    const renew = () => this.#store.renew(id, owner, this.#renewOptions);
    return this.#calls.run(this.#renewTimeoutMs, "renew", renew);
  }
}
