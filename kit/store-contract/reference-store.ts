import type { DeliveryStore } from "../../src/stores/delivery-store.js";

/** The example in the documentation of `DeliveryStore`, on a clock of its own. */
export function referenceStore(now: () => number): DeliveryStore {
  const rows = new Map<string, { owner: string; leaseEnd: number; takeover: boolean }>();
  const completed = new Map<string, number>();
  const isCompleted = (key: string) => (completed.get(key) ?? 0) > now();

  return {
    claim(key, owner, { leaseMs }) {
      if (isCompleted(key)) return { state: "completed" };
      const row = rows.get(key);
      const leftMs = row === undefined ? 0 : row.leaseEnd - now();
      if (row !== undefined && leftMs > 0 && row.owner !== owner) {
        return { state: "in_flight", retryAfterMs: leftMs };
      }
      const takeover = row !== undefined && (row.takeover || leftMs <= 0);
      rows.set(key, { owner, leaseEnd: now() + leaseMs, takeover });
      return { state: "claimed", takeover };
    },
    renew(key, owner, { leaseMs }) {
      const row = rows.get(key);
      if (row?.owner !== owner || row.leaseEnd <= now()) return false;
      row.leaseEnd = now() + leaseMs;
      return true;
    },
    complete(key, _owner, { retentionMs }) {
      rows.delete(key);
      if (!isCompleted(key)) completed.set(key, now() + retentionMs);
    },
    release(key, owner) {
      const row = rows.get(key);
      if (row?.owner !== owner) return;
      if (row.takeover) row.leaseEnd = now();
      else rows.delete(key);
    },
  };
}
