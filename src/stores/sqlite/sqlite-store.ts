import type { ClaimResult, DeliveryStore } from "../delivery-store.js";
import { whenUnlocked } from "./locked.js";
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
 * writes, it answers by a promise, for `waitTimeoutMs` at most; then it fails with SQLITE_BUSY.
 * Leases are judged by the clock of the host. Rows past their retention count as absent, and each
 * completion deletes up to 16 of them; a key that is never completed is kept for the retention too.
 *
 * @throws ConfigurationError for an option that cannot work, and for a database in memory.
 */
export function sqliteStore(options: SqliteOptions): DeliveryStore {
  const { database, table: name, waitTimeoutMs } = checkSqliteOptions(options);
  const { table, writes } = openDeliveries(database, name);
  const write = <T>(work: () => T) => whenUnlocked(() => writes.run(work), waitTimeoutMs);

  return {
    claim: (key, owner, times) =>
      write(() => {
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

    renew: (key, owner, leaseMs) => write(() => table.renew(key, owner, leaseMs)),

    complete: (key, _owner, retentionMs) =>
      write(() => {
        table.complete(key, retentionMs);
      }),

    release: (key, owner) =>
      write(() => {
        table.release(key, owner);
      }),
  };
}
