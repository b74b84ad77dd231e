import { RecentMap } from "../common/recent-map.js";
import { startBackgroundTimer } from "../common/timers.js";
import { keysOf } from "./once-per-record.js";

/** How leases are renewed. */
export interface RenewalOptions {
  readonly leaseMs: number;
  /** Renews a lease in the store. Resolves to whether it is still held; may reject. */
  readonly renew: (id: string, owner: string) => Promise<boolean>;
  /** Called when a renewal rejects. It is retried until the lease ends. */
  readonly onFailed: (id: string, error: unknown) => void;
}

/**
 * The longest wait after a failed renewal. With a longer one the lease could end though the store is back.
 */
const MAX_RETRY_DELAY_MS = 1_000;

/** What the leases of one receiver share. */
interface RenewalTerms extends RenewalOptions {
  /** From one renewal to the next. */
  readonly delayMs: number;
  /** By delivery id, and by the key of the record if the claim is on both. */
  readonly leases: RecentMap<RenewedLease>;
}

/** The leases of the handlers that run in this process. */
export class LeaseRenewals {
  readonly #leases = new RecentMap<RenewedLease>();
  readonly #terms: RenewalTerms;
  readonly #overdueMs: number;

  constructor(options: RenewalOptions) {
    const { leaseMs } = options;
    // Each third of its length, so it outlives one failed renewal.
    const delayMs = leaseMs / 3;
    this.#terms = { ...options, delayMs, leases: this.#leases };
    // A run whose timers are late by two leases counts as gone: its runtime has ended or frozen its request.
    this.#overdueMs = delayMs + 2 * leaseMs;
  }

  /**
   * Adds the lease on `id` until it is stopped; `onLost` is called if it is lost. Call `startTimer` before
   * its first renewal is due. `leasedAt` is when the store was called for it, by `performance.now()`;
   * undefined means now.
   */
  add(id: string, owner: string, leasedAt: number | undefined, onLost: () => void): RenewedLease {
    const lease = new RenewedLease(id, owner, leasedAt, onLost, this.#terms);
    for (const key of lease.keys) this.#leases.set(key, lease);
    return lease;
  }

  /** The lease on a delivery id or on the key of a record; undefined if none is renewed here. */
  find(key: string | undefined): RenewedLease | undefined {
    // Most look-ups find no lease at all, and an empty Map still hashes the key.
    return this.#leases.size === 0 || key === undefined ? undefined : this.#leases.get(key);
  }

  /** Whether a lease on `id` is renewed here, and not overdue. */
  isAlive(id: string): boolean {
    const lease = this.find(id);
    return lease !== undefined && !this.#isOverdue(lease);
  }

  /**
   * For a lease whose renewal is overdue by two leases: waits until it is clear whether its handler still
   * runs here. If it does not, the lease is forgotten here and the store decides. Undefined for other leases.
   */
  resolveOverdue(lease: RenewedLease): Promise<void> | undefined {
    if (!this.#isOverdue(lease)) return undefined;
    // After a pause of the whole process, this request may be served before the overdue timer. The timer
    // below is called after the overdue one, unless the runtime has ended the request of the overdue one.
    return new Promise((resolve) => {
      setTimeout(() => {
        if (this.#isOverdue(lease)) lease.forget();
        resolve();
      }, 1);
    });
  }

  #isOverdue({ aliveAt }: RenewedLease): boolean {
    return performance.now() - aliveAt > this.#overdueMs;
  }
}

/** A lease that this process holds. Timestamps are by `performance.now()`. */
export class RenewedLease {
  /** Milliseconds from the making of this object until the first renewal is due. */
  readonly firstRenewalMs: number;
  /** When the lease ends unless renewed. */
  endsAt: number;
  /** When a timer of this lease last ran. A runtime may freeze or end the request that the timer belongs to. */
  aliveAt: number;
  #stopTimer: (() => void) | undefined;
  #renewing: Promise<void> | undefined;
  #isStarted = false;
  #isStopped = false;
  /** What the lease is on. */
  readonly keys: readonly string[];

  readonly #id: string;
  readonly #owner: string;
  readonly #onLost: () => void;
  readonly #terms: RenewalTerms;

  constructor(
    id: string,
    owner: string,
    leasedAt: number | undefined,
    onLost: () => void,
    terms: RenewalTerms,
  ) {
    this.keys = keysOf(id, owner);
    this.#id = id;
    this.#owner = owner;
    this.#onLost = onLost;
    this.#terms = terms;
    const { leaseMs, delayMs } = terms;
    const now = performance.now();
    const startedAt = leasedAt ?? now;
    this.aliveAt = now;
    this.endsAt = startedAt + leaseMs;
    this.firstRenewalMs = Math.max(0, startedAt + delayMs - now);
  }

  /** Renews the lease when it is due, and then each third of its length, until it is stopped. */
  startTimer(): void {
    if (this.#isStarted || this.#isStopped) return;
    this.#isStarted = true;
    this.#renewAfter(this.firstRenewalMs - (performance.now() - this.aliveAt));
  }

  /** Returns a promise for the store call that is on its way, if there is one. It may go on after the answer. It never rejects. */
  stop(): Promise<void> | undefined {
    this.forget();
    this.#isStopped = true;
    this.#stopTimer?.();
    return this.#renewing;
  }

  /** From now on the store alone decides about its keys. */
  forget(): void {
    const { leases } = this.#terms;
    for (const key of this.keys) if (leases.get(key) === this) leases.delete(key);
  }

  #renewAfter(delayMs: number): void {
    this.#schedule(delayMs, () => {
      this.#renewing = this.#renew();
    });
  }

  #schedule(delayMs: number, run: () => void): void {
    this.aliveAt = performance.now();
    if (delayMs > 0) this.#stopTimer = startBackgroundTimer(delayMs, run);
    else run();
  }

  async #renew(): Promise<void> {
    const { renew, onFailed, leaseMs } = this.#terms;
    const sentAt = (this.aliveAt = performance.now());
    let isHeld: boolean;
    let { delayMs } = this.#terms;
    try {
      isHeld = await renew(this.#id, this.#owner);
      if (isHeld) this.endsAt = sentAt + leaseMs;
    } catch (error) {
      onFailed(this.#id, error);
      delayMs = Math.min(MAX_RETRY_DELAY_MS, leaseMs / 10);
      isHeld = performance.now() < this.endsAt;
    }
    this.#renewing = undefined;
    if (this.#isStopped) return;
    if (isHeld) {
      this.#renewAfter(delayMs);
      return;
    }
    this.#stayKnown();
    this.#onLost();
  }

  /**
   * Keeps a lost lease in the list: its handler still runs here, and no second one may start beside it.
   */
  #stayKnown(): void {
    this.#schedule(this.#terms.delayMs, () => this.#stayKnown());
  }
}
