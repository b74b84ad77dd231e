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

/** Makes the keeper of leases; `renew` says whether the lease is still held, and may reject. */
export function createLeaseRenewals(
  renew: (id: string, owner: string) => Promise<boolean>,
  leaseMs: number,
  onFailed: (id: string, error: unknown) => void,
): LeaseRenewals {
  /** The moment when each lease ends unless renewed. */
  const leaseEnds = new Map<string, number>();

  return {
    keep(id, owner, onLost) {
      let stopTimer: () => void;
      let stopped = false;
      leaseEnds.set(id, performance.now() + leaseMs);
      const schedule = (): void => {
        stopTimer = startBackgroundTimer(leaseMs / RENEWALS_PER_LEASE, () => void renewOnce());
      };
      const renewOnce = async (): Promise<void> => {
        const leaseEnd = performance.now() + leaseMs;
        let isHeld: boolean;
        try {
          isHeld = await renew(id, owner);
          if (isHeld && !stopped) leaseEnds.set(id, leaseEnd);
        } catch (error) {
          onFailed(id, error);
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

    remainingMs(id) {
      // An empty Map still hashes what it is asked for.
      const leaseEnd = leaseEnds.size === 0 ? undefined : leaseEnds.get(id);
      return leaseEnd === undefined ? undefined : leaseEnd - performance.now();
    },
  };
}
