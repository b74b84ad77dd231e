import { CallLimits } from "../call-limits.js";
import { CLAIMED } from "../claim-results.js";
import type { ClaimOptions, ClaimResult, DeliveryStore } from "../delivery-store.js";
import { TIME_LIMIT_HOOK, type TakesTimeLimit } from "../receiver-hooks.js";
import { LostAnswerError } from "../transaction-errors.js";
import { runCall, type Run } from "./autocommit.js";
import { durabilityCheckOf } from "./durability-check.js";
import { lookStatement, readKnown } from "./known-delivery.js";
import { maintenanceOf, type MysqlMaintenance } from "./maintenance.js";
import { promisePool, type MysqlPool } from "./mysql-pool.js";
import { poolOptions, quotedTable } from "./options.js";
import { NOW_MS, fromNow, literal } from "./sql-text.js";

/**
 * An INSERT that waits for another transaction on the row computes the lease before it waits. If it took
 * longer than this, the lease is set again, in milliseconds.
 */
const SLOW_INSERT_MS = 100;

/** Options of `mysqlStore`. */
export interface MysqlStoreOptions {
  /**
   * A pool of mysql2 3, of `mysql2/promise` or with callbacks. Anything else with the same `getConnection`
   * works too.
   */
  readonly pool: MysqlPool;
  /**
   * `table` or `database.table`, each part 1 to 64 letters, digits and `_` with no digit first. Default
   * `gateway_deliveries`. Give each application its own table.
   */
  readonly table?: string | undefined;
}

/** A `DeliveryStore` on a table of MySQL or MariaDB. */
export interface MysqlStore extends DeliveryStore, MysqlMaintenance {}

/**
 * A store on a table of MySQL or MariaDB, for several processes and hosts. The server's clock decides when
 * leases and retention end. Create the table first: `migrate()`, or the SQL of `mysqlSchema`.
 *
 * Needs MySQL 8.0.16 or MariaDB 10.6, or later, with `innodb_flush_log_at_trx_commit = 1`, their default.
 * Each statement commits by itself and keeps nothing in the session. Any isolation level, `autocommit` off
 * and any options of the pool work.
 *
 * The server ends a statement that takes longer than the receiver's `dependencyTimeoutMs` (10 seconds if no
 * receiver uses the store). If the server does not answer at all, the connection is closed two seconds
 * later and the call rejects with a `LostAnswerError`. A row that was claimed and never completed is
 * remembered for the retention, counted from its last claim.
 *
 * @throws ConfigurationError (`unknown_option`, `invalid_option`, `invalid_options`) for options that
 * cannot work.
 * @example
 * const pool = mysql.createPool(process.env.DATABASE_URL);
 * const store = mysqlStore({ pool });
 * await store.migrate();
 * const receiver = createWebhookReceiver({ secret, store, handlers });
 */
export function mysqlStore(options: MysqlStoreOptions): MysqlStore {
  const own = poolOptions("mysqlStore", options);
  const pool = promisePool(own.pool);
  const table = quotedTable(own.table);
  const limits = new CallLimits();
  const call = <T>(work: (run: Run) => Promise<T | undefined>): Promise<T> =>
    runCall(pool, limits, work);

  const release = (key: string, owner: string): Promise<unknown> => {
    const mine = `\`key\` = ${literal(key)} AND owner = ${literal(owner)}`;
    return call(async (run) => {
      const deleted = await run(`DELETE FROM ${table} WHERE ${mine} AND takeover IS NOT TRUE`);
      // A takeover keeps its row and only its lease ends, so that the next claim is a takeover too: an
      // earlier run may have had its effect, however many later runs failed.
      return deleted.affectedRows > 0
        ? deleted
        : run(`UPDATE ${table} SET lease_until = ${NOW_MS} WHERE ${mine} AND takeover IS TRUE`);
    });
  };

  const store: MysqlStore & TakesTimeLimit = {
    async claim(key, owner, times) {
      const statements = claimStatements(table, key, owner, times);
      try {
        const result = await call((run) => claimBy(statements, run));
        checkDurability();
        return result;
      } catch (error) {
        // The claim may have been granted, although no delivery runs under its lease.
        if (error instanceof LostAnswerError) await release(key, owner).catch(() => undefined);
        throw error;
      }
    },

    renew(key, owner, { leaseMs }) {
      const leaseEnd = fromNow(leaseMs);
      return call(async (run) => {
        const renewed = await run(`UPDATE ${table} SET
            expires_at = GREATEST(expires_at, ${leaseEnd}),
            lease_until = ${leaseEnd}
          WHERE \`key\` = ${literal(key)} AND owner = ${literal(owner)} AND lease_until > ${NOW_MS}`);
        if (renewed.affectedRows > 0) return true;
        // A pool that counts changed rows has none if the lease was claimed in the same millisecond.
        const { rows } = await run(lookStatement(table, key, owner));
        return readKnown(rows)?.state === "claimed";
      });
    },

    async complete(key, owner, { retentionMs }) {
      const retentionEnd = fromNow(retentionMs);
      await call(async (run) => {
        const completed = await run(`UPDATE ${table}
          SET expires_at = ${retentionEnd}, owner = NULL, lease_until = NULL
          WHERE \`key\` = ${literal(key)} AND (owner IS NOT NULL OR expires_at <= ${NOW_MS})`);
        if (completed.affectedRows > 0) return true;
        const inserted = await run(`INSERT IGNORE INTO ${table} (\`key\`, expires_at)
          VALUES (${literal(key)}, ${retentionEnd})`);
        if (inserted.affectedRows > 0) return true;
        const known = readKnown((await run(lookStatement(table, key, owner))).rows);
        return known?.state === "completed" ? true : undefined;
      });
    },

    async release(key, owner) {
      await release(key, owner);
    },

    [TIME_LIMIT_HOOK](dependencyTimeoutMs) {
      limits.allow(dependencyTimeoutMs);
    },

    ...maintenanceOf(own.pool, own.table),
  };
  const checkDurability = durabilityCheckOf(store, pool);
  return store;
}

type ClaimStatements = ReturnType<typeof claimStatements>;

function claimStatements(
  table: string,
  key: string,
  owner: string,
  { leaseMs, retentionMs }: ClaimOptions,
) {
  const [id, holder] = [literal(key), literal(owner)];
  const leaseEnd = fromNow(leaseMs);
  const retentionEnd = fromNow(Math.max(leaseMs, retentionMs));
  return {
    insert: `INSERT IGNORE INTO ${table} (\`key\`, owner, lease_until, expires_at)
      VALUES (${id}, ${holder}, ${leaseEnd}, ${retentionEnd})`,
    /** Sets the lease again, unless another owner has taken it. */
    restart: `UPDATE ${table} SET lease_until = ${leaseEnd}, expires_at = ${retentionEnd}
      WHERE \`key\` = ${id} AND owner = ${holder}`,
    look: lookStatement(table, key, owner),
    // The assignments are evaluated in this order: takeover reads the old values.
    take: `UPDATE ${table} SET
        takeover = expires_at > ${NOW_MS} AND (takeover IS TRUE OR lease_until <= ${NOW_MS}),
        owner = ${holder},
        lease_until = ${leaseEnd},
        expires_at = ${retentionEnd}
      WHERE \`key\` = ${id}
        AND (expires_at <= ${NOW_MS} OR lease_until <= ${NOW_MS} OR owner = ${holder})`,
  };
}

/** Undefined if another change came first. */
async function claimBy(
  { insert, restart, look, take }: ClaimStatements,
  run: Run,
): Promise<ClaimResult | undefined> {
  const startedAt = performance.now();
  if ((await run(insert)).affectedRows > 0) {
    if (performance.now() - startedAt < SLOW_INSERT_MS) return CLAIMED;
    return (await run(restart)).affectedRows > 0 ? CLAIMED : undefined;
  }
  const known = readKnown((await run(look)).rows);
  if (known !== undefined && known.state !== "claimed") return known;
  await run(take);
  // Not by the number of rows: by default mysql2 counts found rows, changed or not.
  return readKnown((await run(look)).rows);
}
