import type { ClaimOptions } from "../delivery-store.js";
import { NOW } from "../sqlite-table.js";
import { DatabaseFile } from "./database-file.js";
import type { SqliteDatabase, SqliteStatement } from "./sqlite-database.js";

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

/** The statements on the table. None of them begins or ends a transaction. */
export class DeliveriesTable {
  readonly #file: DatabaseFile;
  readonly #find: SqliteStatement;
  readonly #lease: SqliteStatement;
  readonly #renew: SqliteStatement;
  readonly #complete: SqliteStatement;
  readonly #sweep: SqliteStatement;
  readonly #endTakeover: SqliteStatement;
  readonly #forget: SqliteStatement;

  /** Prepares the statements. Throws if the table is missing. */
  constructor(database: SqliteDatabase, table: string) {
    this.#file = new DatabaseFile(database);
    // `?` without a number: better-sqlite3 takes `?1` for a name.
    const rows = `"${table}"`;
    this.#find = database.prepare(
      `SELECT owner, lease_ends_at - ${NOW}, takeover FROM ${rows}
       WHERE key = ? AND forget_at > ${NOW}`,
    );
    this.#lease = database.prepare(
      `INSERT INTO ${rows} (key, owner, takeover, lease_ends_at, forget_at)
       VALUES (?, ?, ?, ${NOW} + ?, ${NOW} + ?)
       ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, takeover = excluded.takeover,
         lease_ends_at = excluded.lease_ends_at, forget_at = excluded.forget_at`,
    );
    this.#renew = database.prepare(
      `UPDATE ${rows} SET lease_ends_at = ${NOW} + ?, forget_at = max(forget_at, ${NOW} + ?)
       WHERE key = ? AND owner = ? AND lease_ends_at > ${NOW}`,
    );
    this.#complete = database.prepare(
      `INSERT INTO ${rows} (key, forget_at) VALUES (?, ${NOW} + ?)
       ON CONFLICT (key) DO UPDATE SET owner = NULL, lease_ends_at = NULL, forget_at = excluded.forget_at
       WHERE owner IS NOT NULL OR forget_at <= ${NOW}`,
    );
    // Deletes old rows without a timer, and without an index, which would be as large as the table. Each
    // completion looks at the rows next to its own, mostly in the page that it writes anyway, and at the
    // first rows. With random ids every row is such a neighbour before long. With ascending ids the oldest
    // rows are the first ones.
    this.#sweep = database.prepare(
      `DELETE FROM ${rows} WHERE forget_at <= ${NOW} AND key IN (
         SELECT key FROM (SELECT key FROM ${rows} WHERE key > ? ORDER BY key LIMIT ${SWEPT})
         UNION ALL SELECT key FROM (SELECT key FROM ${rows} ORDER BY key LIMIT ${SWEPT}))`,
    );
    this.#endTakeover = database.prepare(
      `UPDATE ${rows} SET lease_ends_at = ${NOW} WHERE key = ? AND owner = ? AND takeover = 1`,
    );
    this.#forget = database.prepare(
      `DELETE FROM ${rows} WHERE key = ? AND owner = ? AND takeover = 0`,
    );
  }

  /**
   * What is remembered of `key`; undefined for nothing, and once the retention has ended. Throws `file_lost` if the
   * file was deleted, replaced or emptied.
   */
  find(key: string): KnownDelivery | undefined {
    this.#file.check();
    const row = this.#find.get(key);
    if (row === undefined || row === null) return undefined;
    // By position and through Number: a handle may be set to return arrays, and BigInt for integers.
    const [owner, remainingMs, takeover] = Object.values(row) as unknown[];
    if (typeof owner !== "string") return { state: "completed" };
    const isTakeover = Number(takeover) === 1;
    return { state: "leased", owner, remainingMs: Number(remainingMs), takeover: isTakeover };
  }

  /** Gives the lease on `key` to `owner`. */
  lease(
    key: string,
    owner: string,
    takeover: boolean,
    { leaseMs, retentionMs }: ClaimOptions,
  ): void {
    this.#lease.run(key, owner, takeover ? 1 : 0, leaseMs, Math.max(leaseMs, retentionMs));
  }

  /** Extends a lease that `owner` holds. False if the lease is lost. */
  renew(key: string, owner: string, leaseMs: number): boolean {
    return Number(this.#renew.run(leaseMs, leaseMs, key, owner).changes) > 0;
  }

  /** Completes `key` if it is not completed yet, and deletes some rows whose retention has ended. */
  complete(key: string, retentionMs: number): void {
    this.#complete.run(key, retentionMs);
    this.#sweep.run(key);
  }

  /** Ends the lease of `owner`. A takeover keeps its row; any other row is deleted. */
  release(key: string, owner: string): void {
    this.#endTakeover.run(key, owner);
    this.#forget.run(key, owner);
  }
}
