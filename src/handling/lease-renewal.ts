import { startBackgroundTimer } from "../common/timers.js";

/** The leases of the handlers that run in this process. */
export interface LeaseRenewals {
  /**
   * Renews the lease on `id` until the returned function is called; `onLost` is called when it is lost.
   * `leasedAt`: when the store was asked for it, by `performance.now()`; undefined: now.
   */
  readonly keep: (
    id: string,
    owner: string,
    leasedAt: number | undefined,
    onLost: () => void,
  ) => () => void;
  /** Milliseconds until the lease on `id` ends unless renewed; undefined where none is kept here. */
  readonly remainingMs: (id: string) => number | undefined;
  /**
   * For an id whose renewal is overdue by two leases: waits until it can tell whether its handler still
   * runs here. If not, the lease is forgotten here, and the store decides. Undefined for all others.
   */
  readonly overdue: (id: string) => Promise<void> | undefined;
}

/** What this process knows of a lease that it holds. Moments by `performance.now()`. */
interface Lease {
  /** When it ends unless renewed. */
  endsAt: number;
  /** When its timer was last seen to run. A runtime may freeze or end the request that it belongs to. */
  aliveAt: number;
}

/** Renewed this often within its length, a lease outlives one failed renewal. */
const RENEWALS_PER_LEASE = 3;
/** A renewal that failed is tried again so soon, or the lease could end while the store is back. */
const MAX_RETRY_DELAY_MS = 1_000;

/** Makes the keeper of leases; `renew` says whether the lease is still held, and may reject. */
export function createLeaseRenewals(
  renew: (id: string, owner: string) => Promise<boolean>,
  leaseMs: number,
  onFailed: (id: string, error: unknown) => void,
): LeaseRenewals {
  const leases = new Map<string, Lease>();
  const renewalDelayMs = leaseMs / RENEWALS_PER_LEASE;
  const overdueMs = renewalDelayMs + 2 * leaseMs;

  const isOverdue = ({ aliveAt }: Lease) => performance.now() - aliveAt > overdueMs;

  return {
    keep(id, owner, leasedAt, onLost) {
      const now = performance.now();
      const startedAt = leasedAt ?? now;
      const lease: Lease = { endsAt: startedAt + leaseMs, aliveAt: now };
      let stopTimer: () => void;
      let stopped = false;
      leases.set(id, lease);
      const schedule = (delayMs: number, run: () => void): void => {
        lease.aliveAt = performance.now();
        stopTimer = startBackgroundTimer(delayMs, run);
      };
      const renewOnce = async (): Promise<void> => {
        const sentAt = (lease.aliveAt = performance.now());
        let isHeld: boolean;
        let delayMs = renewalDelayMs;
        try {
          isHeld = await renew(id, owner);
          if (isHeld) lease.endsAt = sentAt + leaseMs;
        } catch (error) {
          onFailed(id, error);
          delayMs = Math.min(MAX_RETRY_DELAY_MS, leaseMs / 10);
          isHeld = performance.now() < lease.endsAt;
        }
        if (stopped) return;
        if (isHeld) {
          schedule(delayMs, () => void renewOnce());
          return;
        }
        stayKnown();
        onLost();
      };
      // A handler that lost its lease still runs here, and no second one may start beside it.
      const stayKnown = (): void => {
        schedule(renewalDelayMs, stayKnown);
      };
      schedule(Math.max(0, startedAt + renewalDelayMs - now), () => void renewOnce());
      return () => {
        stopped = true;
        stopTimer();
        if (leases.get(id) === lease) leases.delete(id);
      };
    },

    remainingMs(id) {
      // An empty Map still hashes what it is asked for.
      const lease = leases.size === 0 ? undefined : leases.get(id);
      return lease && lease.endsAt - performance.now();
    },

    overdue(id) {
      const lease = leases.size === 0 ? undefined : leases.get(id);
      if (lease === undefined || !isOverdue(lease)) return undefined;
      // After a pause of the whole process this request may come before the timer that is due. It is
      // called before this one; where a runtime has ended that request, it is never called.
      return new Promise((resolve) => {
        setTimeout(() => {
          if (leases.get(id) === lease && isOverdue(lease)) leases.delete(id);
          resolve();
        }, 1);
      });
    },
  };
}
