import type { ClaimResult, DeliveryStore } from "../delivery-store.js";
import { openDeliveries } from "./open-deliveries.js";
import { checkSqliteOptions, type SqliteOptions } from "./sqlite-options.js";

const CLAIMED: ClaimResult = Object.freeze({ state: "claimed", takeover: false });
const TAKEN_OVER: ClaimResult = Object.freeze({ state: "claimed", takeover: true });
const COMPLETED: ClaimResult = Object.freeze({ state: "completed" });

/**
 * A store in a SQLite file: for the processes of one host, and durable. What it has answered survives
 * the end of the process, and a power cut as far as the disk keeps its word on fsync.
 *
 * Each method is one write transaction and answers at once, with no promise. While another connection
 * writes, or other calls wait, it answers by a promise, after `waitTimeoutMs` at most; then it fails. All
 * stores on a handle have one queue: renewals, completions and releases go before claims, and calls of a
 * kind go in their order. After a process has met another one that writes, it pauses for 3 ms every 5 ms,
 * so that all get the lock.
 * Leases are judged by the clock of the host. Rows past their retention count as absent, and each
 * completion deletes up to 16 of them; a key that is never completed is kept for the retention too.
 *
 * @throws ConfigurationError for an option that cannot work, and for a database in memory.
 */
export function sqliteStore(options: SqliteOptions): DeliveryStore {
  const { database, table: name, waitTimeoutMs } = checkSqliteOptions("sqliteStore", options);
  const { table, writes } = openDeliveries(database, name);

  return {
    claim: (key, owner, times) =>
      writes.run("new", waitTimeoutMs, () => {
        const known = table.find(key);
        if (known?.state === "completed") return COMPLETED;
        const isHeld = known !== undefined && known.remainingMs > 0;
        if (isHeld && known.owner !== owner) {
          return { state: "in_flight", retryAfterMs: known.remainingMs };
        }
        const takeover = known !== undefined && (!isHeld || known.takeover);
        table.lease(key, owner, takeover, times);
        return takeover ? TAKEN_OVER : CLAIMED;
      }),

    renew: (key, owner, { leaseMs }) =>
      writes.run("running", waitTimeoutMs, () => table.renew(key, owner, leaseMs)),

    complete: (key, _owner, { retentionMs }) =>
      writes.run("running", waitTimeoutMs, () => {
        table.complete(key, retentionMs);
      }),

    release: (key, owner) =>
      writes.run("running", waitTimeoutMs, () => {
        table.release(key, owner);
      }),
  };
}
