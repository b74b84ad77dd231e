import { deliveryStatements, NOW } from "../sqlite-table.js";
import type { ClaimOptions } from "../delivery-store.js";
import type { SqliteDatabase } from "./sqlite-options.js";
import { GatewayWebhookError } from "../../common/errors.js";

/** A delivery that the table remembers. */
export type KnownDelivery =
  | { readonly state: "completed" }
  | {
      readonly state: "leased";
      readonly owner: string;
      /** Milliseconds until the lease ends; 0 or less if it has ended. */
      readonly remainingMs: number;
      /** Whether the lease itself was a takeover. */
      readonly takeover: boolean;
    };

/** The sweep looks at this many rows at each of two places. */
const SWEPT = 8;

export type DeliveriesTable = ReturnType<typeof deliveriesTable>;

/** The statements on the table. None of them begins or ends a transaction. Throws if the table is missing. */
export function deliveriesTable(database: SqliteDatabase, table: string) {
  const checkFile = fileCheck(database);
  // `?` without a number: better-sqlite3 takes `?1` for a name.
  const rows = `"${table}"`;
  const find = database.prepare(
    `SELECT owner, lease_ends_at - ${NOW}, takeover FROM ${rows}
       WHERE key = ? AND forget_at > ${NOW}`,
  );
  const lease = database.prepare(
    `INSERT INTO ${rows} (key, owner, takeover, lease_ends_at, forget_at)
       VALUES (?, ?, ?, ${NOW} + ?, ${NOW} + ?)
       ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, takeover = excluded.takeover,
         lease_ends_at = excluded.lease_ends_at, forget_at = excluded.forget_at`,
  );
  const shared = deliveryStatements(rows);
  const renew = database.prepare(shared.renew);
  const complete = database.prepare(shared.complete);
  // Deletes old rows without a timer, and without an index, which would be as large as the table. Each
  // completion looks at the rows next to its own, mostly in the page that it writes anyway, and at the
  // first rows. With random ids every row is such a neighbour before long. With ascending ids the oldest
  // rows are the first ones.
  const sweep = database.prepare(
    `DELETE FROM ${rows} WHERE forget_at <= ${NOW} AND key IN (
         SELECT key FROM (SELECT key FROM ${rows} WHERE key > ? ORDER BY key LIMIT ${SWEPT})
         UNION ALL SELECT key FROM (SELECT key FROM ${rows} ORDER BY key LIMIT ${SWEPT}))`,
  );
  const endTakeover = database.prepare(shared.endTakeover);
  const forget = database.prepare(shared.forget);

  return {
    /**
     * What is remembered of `key`; undefined for nothing, and once the retention has ended. Throws `file_lost` if the
     * file was deleted, replaced or emptied.
     */
    find(key: string): KnownDelivery | undefined {
      checkFile();
      const row = find.get(key);
      if (row === undefined || row === null) return undefined;
      // By position and through Number: a handle may be set to return arrays, and BigInt for integers.
      const [owner, remainingMs, takeover] = Object.values(row) as unknown[];
      if (typeof owner !== "string") return { state: "completed" };
      const isTakeover = Number(takeover) === 1;
      return { state: "leased", owner, remainingMs: Number(remainingMs), takeover: isTakeover };
    },

    /** Gives the lease on `key` to `owner`. */
    lease(key: string, owner: string, takeover: boolean, times: ClaimOptions): void {
      const { leaseMs, retentionMs } = times;
      lease.run(key, owner, takeover ? 1 : 0, leaseMs, Math.max(leaseMs, retentionMs));
    },

    /** Extends a lease that `owner` holds. False if the lease is lost. */
    renew: (key: string, owner: string, leaseMs: number): boolean =>
      Number(renew.run(leaseMs, leaseMs, key, owner).changes) > 0,

    /** Completes `key` if it is not completed yet, and deletes some rows whose retention has ended. */
    complete(key: string, retentionMs: number): void {
      complete.run(key, retentionMs);
      sweep.run(key);
    },

    /** Ends the lease of `owner`. A takeover keeps its row; any other row is deleted. */
    release(key: string, owner: string): void {
      endTakeover.run(key, owner);
      forget.run(key, owner);
    },
  };
}

/** What is read of `node:fs`. Never an import: a bundle for the edge could not resolve it. */
interface Host {
  /** Missing in some runtimes, whose error is caught. */
  readonly process: { getBuiltinModule(name: string): unknown };
}
interface FileSystem {
  statSync(path: string): { readonly dev: number; readonly ino: number; readonly size: number };
}

const LOOK_EVERY_MS = 60_000;

/**
 * A function that looks at the file of a handle once a minute, and at each call while it is lost. A handle keeps a file
 * that was deleted, and SQLite goes on reading and writing it, so nothing else would tell that what it remembers ends
 * with the process. It throws `file_lost` if the file was deleted, replaced or emptied since it was opened.
 */
function fileCheck(database: SqliteDatabase): () => void {
  const main = database.prepare("PRAGMA database_list").get();
  // By position: a handle may be set to return rows as arrays.
  const path = String(Object.values(Object(main) as object)[2]);
  const identity = identityOf(path);
  let lookAt = performance.now() + LOOK_EVERY_MS;
  return () => {
    if (identity === undefined || performance.now() < lookAt) return;
    if (identityOf(path) !== identity) {
      throw new GatewayWebhookError(
        "file_lost",
        "the file of the database was deleted, replaced or emptied while it was open, so what the store " +
          "remembers would be lost: put the file back, or start the receiver again with a new one",
      );
    }
    lookAt = performance.now() + LOOK_EVERY_MS;
  };
}

/** What tells a file from others; undefined if it is missing or empty, or the runtime does not tell. */
function identityOf(path: string): string | undefined {
  try {
    const module = (globalThis as Host).process.getBuiltinModule("node:fs");
    const { dev, ino, size } = (module as FileSystem).statSync(path);
    return size === 0 ? undefined : `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}
