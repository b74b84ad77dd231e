import { inFlight, type ClaimResult } from "../delivery-store.js";
import type { WorkFacts } from "../transactional-store.js";
import type { MysqlResult } from "./connection.js";
import { ERRNO, errnoOf, isWaitOver } from "./errors.js";
import { lookStatement, readKnown } from "./lease-statements.js";
import { NOW_MS, fromNow, literal } from "./sql-text.js";

/** When to retry a redelivery while a transaction of unknown length handles the delivery. */
const RETRY_AFTER_MS = 10_000;
/** How long a new row waits for another transaction that inserts the same one, before it looks again. */
const INSERT_WAIT_MS = 200;
/** The owner of a row whose transaction is open. No one sees it unless the handler commits early. */
const OWNER = "transaction";
/** For a record whose row met a deadlock, or waited too long for another transaction. */
export const RECORD_IN_FLIGHT = { ...inFlight(RETRY_AFTER_MS), sameRecord: true } as const;

/** Why the delivery of a key cannot run. */
export type Refusal = Exclude<ClaimResult, { state: "claimed" }>;

/** A connection that runs statements of the store, for at most `ms` milliseconds. */
interface Statements {
  query(sql: string, ms?: number): Promise<MysqlResult>;
  queryCommitted(sql: string): Promise<MysqlResult>;
}

/** The row of one key, which a transaction writes. */
export class TransactionRow {
  readonly #table: string;
  readonly #key: string;
  readonly #retentionMs: number;
  /** SQL that is true for the row. */
  readonly #isIt: string;

  constructor(table: string, key: string, retentionMs: number) {
    this.#table = table;
    this.#key = key;
    this.#retentionMs = retentionMs;
    this.#isIt = `\`key\` = ${literal(key)}`;
  }

  /**
   * Whether there is no row, or one that can be taken, or why the delivery cannot run. Runs before the
   * transaction. An INSERT would wait for the end of another transaction that has inserted the same key. So
   * the row is locked for one statement, without waiting, and a redelivery is answered at once. This only
   * saves time.
   */
  async find(statements: Statements): Promise<"absent" | "ended" | Refusal> {
    const found = await this.#tryLock(statements);
    if (found === "absent") return found;
    const known = await this.#look(statements);
    if (known !== undefined) return known;
    if (found === "present") return "ended";
    // Once more: the lock may have been that of the whole table, for which the look has waited.
    const again = await this.#tryLock(statements);
    if (again === "locked") return inFlight(RETRY_AFTER_MS);
    return again === "present" ? "ended" : again;
  }

  async #tryLock(statements: Statements): Promise<"absent" | "present" | "locked"> {
    try {
      const { rows } = await statements.query(
        `SELECT 1 FROM ${this.#table} WHERE ${this.#isIt} FOR UPDATE NOWAIT`,
      );
      return rows.length === 0 ? "absent" : "present";
    } catch (error) {
      const errno = errnoOf(error);
      if (errno !== ERRNO.lockedNow && errno !== ERRNO.lockWaitTimeout) throw error;
      return "locked";
    }
  }

  async #look(statements: Statements): Promise<Refusal | undefined> {
    // A lease of this owner has always ended, so it is never found.
    const { rows } = await statements.queryCommitted(
      lookStatement(this.#table, [{ key: this.#key, owner: OWNER }]),
    );
    const [known] = readKnown(rows);
    return known?.state === "claimed" ? undefined : known;
  }

  /**
   * Writes the row in the transaction, as a lease that has ended: if the handler commits early, its
   * delivery is taken over. Undefined if another change came first.
   */
  async write(statements: Statements, found: "absent" | "ended"): Promise<WorkFacts | undefined> {
    if (found === "ended") return this.#take(statements);
    try {
      const { affectedRows } = await statements.query(
        `INSERT IGNORE INTO ${this.#table} (\`key\`, owner, lease_until, expires_at)
          VALUES (${literal(this.#key)}, ${literal(OWNER)}, ${NOW_MS}, ${fromNow(this.#retentionMs)})`,
        INSERT_WAIT_MS,
      );
      return affectedRows > 0 ? { takeover: false } : undefined;
    } catch (error) {
      if (isWaitOver(error)) return undefined;
      throw error;
    }
  }

  async #take(statements: Statements): Promise<WorkFacts | undefined> {
    // The assignments are evaluated in this order: takeover reads the old value. A row within its
    // retention that can be taken is an ended lease.
    const { affectedRows } = await statements.query(`UPDATE ${this.#table} SET
        takeover = expires_at > ${NOW_MS},
        owner = ${literal(OWNER)},
        lease_until = ${NOW_MS},
        expires_at = ${fromNow(this.#retentionMs)}
      WHERE ${this.#isIt} AND (expires_at <= ${NOW_MS} OR lease_until <= ${NOW_MS})`);
    if (affectedRows === 0) return undefined;
    // A locking read: a plain one would fix the snapshot of the handler's reads before the handler runs.
    const { rows } = await statements.query(
      `SELECT takeover IS TRUE AS is_takeover FROM ${this.#table} WHERE ${this.#isIt} FOR UPDATE`,
    );
    const [row] = rows as readonly { is_takeover: unknown }[];
    return { takeover: Number(row?.is_takeover) === 1 };
  }

  /** SQL that completes the row, and `more` rows, at the end of their transaction. Changes no row if they are gone. */
  completion(more: readonly TransactionRow[]): string {
    const keys = [this.#key, ...more.map((row) => row.#key)];
    return `UPDATE ${this.#table}
      SET expires_at = ${fromNow(this.#retentionMs)}, owner = NULL, lease_until = NULL
      WHERE \`key\` IN (${keys.map(literal).join()}) AND owner = ${literal(OWNER)}`;
  }
}

/** Whether the look before the transaction has found a reason against the delivery. */
export function isRefusal(found: "absent" | "ended" | Refusal | undefined): found is Refusal {
  return typeof found === "object";
}
