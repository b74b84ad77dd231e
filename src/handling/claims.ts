import type { Log } from "../answer/logger.js";
import { isPromise, type ValueOrPromise } from "../common/promises.js";
import { DeadlineError, within } from "../common/timers.js";
import type { StoreCalls } from "../telemetry/store-calls.js";
import type { HostDeadline } from "../delivery/request.js";
import type {
  ClaimOptions,
  ClaimResult,
  CompleteOptions,
  DeliveryStore,
  RenewOptions,
} from "../stores/delivery-store.js";
import { COMPLETED, OwnerNames, readClaim, unavailable } from "./claim.js";
import type { Claim, ClaimTimes, Unfinished } from "./claim.js";
import { CompletionBacklog } from "./completion-backlog.js";
import { LeaseRenewals } from "./lease-renewals.js";

type Deadline = HostDeadline | undefined;

/**
 * The store as the receiver uses it: every call is bounded, and none throws or rejects. Code that waits
 * for a promise is in a separate method, so that a synchronous store costs no closure.
 */
export class Claims {
  readonly #store: DeliveryStore;
  readonly #log: Log;
  readonly #calls: StoreCalls;
  // Made once, not for each delivery.
  readonly #claimOptions: ClaimOptions;
  readonly #renewOptions: RenewOptions;
  readonly #completeOptions: CompleteOptions;
  readonly #timeoutMs: number;
  readonly #claimTimeoutMs: number;
  readonly #renewTimeoutMs: number;
  readonly #owners = new OwnerNames();
  /** Completions that the store has not taken yet. */
  readonly backlog: CompletionBacklog;
  /** Ids that were handled here and whose completion is on its way to the store. */
  readonly #completing = new Set<string>();
  /**
   * The leases whose handlers run here. While a lease is renewed here, its redeliveries are `in_flight`
   * even if the store has ended the lease, during a long pause of the process or during an outage.
   */
  readonly renewals: LeaseRenewals;

  constructor(store: DeliveryStore, times: ClaimTimes, log: Log, calls: StoreCalls) {
    const { leaseMs, retentionMs, dependencyTimeoutMs } = times;
    this.#store = store;
    this.#log = log;
    this.#calls = calls;
    this.#claimOptions = { leaseMs, retentionMs };
    this.#renewOptions = { leaseMs };
    this.#completeOptions = { retentionMs };
    this.#timeoutMs = dependencyTimeoutMs;
    // A longer claim could end its lease before the first renewal.
    this.#claimTimeoutMs = Math.min(dependencyTimeoutMs, leaseMs / 2);
    // If the answer to a renewal is lost, there must be time for the next one before the lease ends.
    this.#renewTimeoutMs = Math.min(dependencyTimeoutMs, leaseMs / 3);
    this.backlog = new CompletionBacklog({
      complete: (id, owner) => this.#completeAgain(id, owner),
      onGivenUp: (id) => {
        log.error("completion given up: too many wait for the store; it may be handled again", {
          id,
        });
      },
    });
    this.renewals = new LeaseRenewals({
      leaseMs,
      renew: (id, owner) => this.#renew(id, owner),
      onFailed: (id, error) => {
        log.error("renewal of the lease failed: retried until the lease ends", { id, error });
      },
    });
  }

  /** Takes the lease on `id` for a new owner. */
  claim(id: string, deadline: Deadline): ValueOrPromise<Claim> {
    const lease = this.renewals.find(id);
    const overdue = lease && this.renewals.resolveOverdue(id, lease);
    if (overdue !== undefined) return overdue.then(() => this.claim(id, deadline));
    const known = this.#knownHere(id, deadline);
    if (known !== undefined) return known;
    const owner = this.#owners.next();
    try {
      const claiming = this.#store.claim(id, owner, this.#claimOptions);
      return isPromise(claiming)
        ? this.#claimLater(id, owner, claiming, deadline)
        : readClaim(claiming, owner);
    } catch (error) {
      this.#calls.failed("claim");
      return unavailable(error);
    }
  }

  /** Remembers `id` as handled. If the store fails, the call is retried in the background. */
  complete(id: string, owner: string, deadline: Deadline): ValueOrPromise<Unfinished | undefined> {
    try {
      const completed = this.#store.complete(id, owner, this.#completeOptions);
      if (isPromise(completed)) return this.#completeLater(id, owner, completed, deadline);
    } catch (error) {
      this.#calls.failed("complete");
      return this.#retryCompletion(id, owner, error);
    }
  }

  /** Releases the lease on `id`. If the store fails, the lease ends by itself. */
  release(id: string, owner: string): ValueOrPromise<void> {
    try {
      const released = this.#store.release(id, owner);
      if (isPromise(released)) return this.#releaseLater(id, released);
    } catch (error) {
      this.#calls.failed("release");
      this.#logFailedRelease(id, error);
    }
  }

  /**
   * Retries completions that the store has not taken, for the shorter of `timeoutMs` and
   * `dependencyTimeoutMs`.
   */
  async flush(timeoutMs: number): Promise<void> {
    const flushMs = Math.min(timeoutMs, this.#timeoutMs);
    // A shutdown does not wait for a store that is down.
    await within(flushMs, "the last completions", this.backlog.flush()).catch(() => undefined);
  }

  #knownHere(id: string, deadline: Deadline): Claim | undefined {
    if ((this.#completing.size > 0 && this.#completing.has(id)) || this.backlog.has(id)) {
      return COMPLETED;
    }
    const lease = this.renewals.find(id);
    if (lease !== undefined) {
      return { state: "in_flight", retryAfterMs: lease.endsAt - performance.now() };
    }
    // The process was frozen meanwhile: the gateway has its answer, and no handler may begin now.
    return deadline?.handlerMs(1) === 0 ? unavailable(undefined) : undefined;
  }

  async #claimLater(
    id: string,
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
    } catch (error) {
      // The gateway sends the delivery again. A late claim that stayed would refuse the redelivery.
      const isLate = error instanceof DeadlineError;
      const unfinished = isLate ? this.#releaseLateClaim(id, owner, claimed) : undefined;
      return { state: "unavailable", error, unfinished };
    }
    if (claim.state !== "claimed") return claim;
    const known = this.#knownHere(id, deadline);
    if (known === undefined) return { ...claim, leasedAt };
    await this.release(id, owner);
    return known;
  }

  #releaseLateClaim(id: string, owner: string, claimed: Promise<Claim>): Promise<void> {
    return claimed.then(
      (late) => (late.state === "claimed" ? this.release(id, owner) : undefined),
      () => undefined,
    );
  }

  #renew(id: string, owner: string): Promise<boolean> {
    const renew = () => this.#store.renew(id, owner, this.#renewOptions);
    return this.#calls.run(this.#renewTimeoutMs, "renew", renew);
  }

  #completeLater(
    id: string,
    owner: string,
    completed: PromiseLike<void>,
    deadline: Deadline,
  ): Promise<Unfinished | undefined> {
    this.#completing.add(id);
    const timeoutMs = deadline?.storeMs(this.#timeoutMs) ?? this.#timeoutMs;
    return this.#calls.within(timeoutMs, "complete", completed).then(
      () => {
        this.#completing.delete(id);
        return undefined;
      },
      (error: unknown) => {
        const unfinished = this.#retryCompletion(id, owner, error);
        this.#completing.delete(id);
        return unfinished;
      },
    );
  }

  #completeAgain(id: string, owner: string): Promise<void> {
    const complete = () => this.#store.complete(id, owner, this.#completeOptions);
    return this.#calls.run(this.#timeoutMs, "complete", complete);
  }

  #retryCompletion(id: string, owner: string, error: unknown): Unfinished {
    const line = "completion failed: the delivery is handled, and the completion is retried";
    this.#log.error(line, { id, error });
    return { work: this.backlog.add(id, owner) };
  }

  #releaseLater(id: string, released: PromiseLike<void>): Promise<void> {
    return this.#calls.within(this.#timeoutMs, "release", released).catch((error: unknown) => {
      this.#logFailedRelease(id, error);
    });
  }

  #logFailedRelease(id: string, error: unknown): void {
    const line = "release failed: the next attempt waits until the lease ends";
    this.#log.error(line, { id, error });
  }
}
