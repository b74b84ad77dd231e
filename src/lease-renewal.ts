import { startBackgroundTimer } from "./background-timer.js";

/** The leases of the handlers that run in this process. */
export interface LeaseRenewals {
  /**
   * Renews the lease on `id` until the returned function is called; `onLost` hears when it is lost.
   */
  readonly keep: (id: string, owner: string, onLost: () => void) => () => void;
  /** Milliseconds until the lease on `id` ends unless renewed; undefined where none is kept here. */
  readonly remainingMs: (id: string) => number | undefined;
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
  /** The moment when each lease ends unless renewed. */
  const leaseEnds = new Map<string, number>();
  const renewalDelayMs = leaseMs / RENEWALS_PER_LEASE;

  return {
    keep(id, owner, onLost) {
      let stopTimer: () => void;
      let stopped = false;
      leaseEnds.set(id, performance.now() + leaseMs);
      const schedule = (delayMs: number): void => {
        stopTimer = startBackgroundTimer(delayMs, () => void renewOnce());
      };
      const renewOnce = async (): Promise<void> => {
        const leaseEnd = performance.now() + leaseMs;
        let isHeld: boolean;
        let delayMs = renewalDelayMs;
        try {
          isHeld = await renew(id, owner);
          if (isHeld && !stopped) leaseEnds.set(id, leaseEnd);
        } catch (error) {
          onFailed(id, error);
          delayMs = Math.min(MAX_RETRY_DELAY_MS, leaseMs / 10);
          isHeld = performance.now() < (leaseEnds.get(id) ?? 0);
        }
        if (stopped) return;
        if (isHeld) schedule(delayMs);
        else onLost();
      };
      schedule(renewalDelayMs);
      return () => {
        stopped = true;
        stopTimer();
        leaseEnds.delete(id);
      };
    },

    remainingMs(id) {
      // An empty Map still hashes what it is asked for.
      const leaseEnd = leaseEnds.size === 0 ? undefined : leaseEnds.get(id);
      return leaseEnd === undefined ? undefined : leaseEnd - performance.now();
    },
  };
}
