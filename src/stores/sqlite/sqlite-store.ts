import { CLAIMED, COMPLETED, TAKEN_OVER, inFlight, type DeliveryStore } from "../delivery-store.js";
import { openDeliveries } from "./open-deliveries.js";
import { checkSqliteOptions, type SqliteOptions } from "./sqlite-options.js";

/**
 * A store in a SQLite file, for the processes of one host. What it has written survives the end of the
 * process, and a power cut if the disk honours fsync. It creates its table if that is missing. The clock
 * of the host decides when leases and retention end.
 *
 * While deliveries come one at a time, each call is a write transaction of its own and returns a value, not
 * a promise, if the file is free. From the second delivery in a turn of the event loop on, calls return
 * promises: all calls of a turn share one transaction, so one wait for the disk, at the end of the turn. The
 * promises settle after its commit. If a call fails, or the commit does, each call of the group is tried on
 * its own, so it fails only for a cause of its own. A group writes for about 5 ms; the rest waits for the
 * next turn. A call that waits for another connection returns a promise too. It rejects after
 * `waitTimeoutMs`.
 *
 * All stores on one handle share a queue: renewals, completions and releases go before claims, and calls of
 * one kind keep their order. A process that has met another writer pauses for 3 ms after every 5 ms of
 * writing, so that every process gets the lock.
 *
 * Rows past their retention count as absent, and each completion deletes up to 16 of them. A key that was
 * claimed and never completed is kept for the retention too.
 *
 * @throws ConfigurationError (`unknown_option`, `invalid_option`, `invalid_options`) for options that
 * cannot work, for a database in memory, and for a table of that name that the store cannot use;
 * (`unsupported_version`) for a driver that lacks a method or returns promises.
 * @example
 * import Database from "better-sqlite3"; // or libsql, node:sqlite, bun:sqlite
 *
 * const store = sqliteStore({ database: new Database("deliveries.db") });
 * const receiver = createWebhookReceiver({ secret, store, handlers });
 */
export function sqliteStore(options: SqliteOptions): DeliveryStore {
  const { database, table: name, waitTimeoutMs } = checkSqliteOptions("sqliteStore", options);
  const { table, writes } = openDeliveries(database, name);

  return {
    scope: name,

    claim: (key, owner, times) =>
      writes.run("new", key, waitTimeoutMs, () => {
        const known = table.find(key);
        if (known?.state === "completed") return COMPLETED;
        const isHeld = known !== undefined && known.remainingMs > 0;
        if (isHeld && known.owner !== owner) {
          return inFlight(known.remainingMs);
        }
        const takeover = known !== undefined && (!isHeld || known.takeover);
        table.lease(key, owner, takeover, times);
        return takeover ? TAKEN_OVER : CLAIMED;
      }),

    renew: (key, owner, { leaseMs }) =>
      writes.run("running", key, waitTimeoutMs, () => table.renew(key, owner, leaseMs)),

    complete: (key, _owner, { retentionMs }) =>
      writes.run("running", key, waitTimeoutMs, () => table.complete(key, retentionMs)),

    release: (key, owner) =>
      writes.run("running", key, waitTimeoutMs, () => table.release(key, owner)),
  };
}
