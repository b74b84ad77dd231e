import { type MysqlStoreOptions, promisePool, poolOptions, quotedTable } from "./mysql-pool.js";
import type { TableMaintenance } from "../table-maintenance.js";
import {
  type ClaimCall,
  type CompleteCall,
  CallGroups,
  latestDeadline,
  type KeyedCall,
  type LockWait,
} from "../call-groups.js";
import { CallLimits } from "../call-limits.js";
import type { ClaimResult, DeliveryStore } from "../delivery-store.js";
import { runCall, runOnce, type Run } from "./autocommit.js";
import {
  claimOne,
  claimTogether,
  completeOne,
  completeTogether,
  lookStatement,
  readKnown,
} from "./lease-statements.js";
import { durabilityCheck } from "./durability-check.js";
import { isLockWaitOver } from "./errors.js";
import { maintenanceOf } from "./maintenance.js";
import { DEFAULT_TABLE } from "../quoted-table.js";
import { NOW_MS, fromNow, literal } from "./sql-text.js";

/**
 * How long a group waits for a row that another transaction has, in milliseconds, if it does not know of
 * locked rows. Then the call for that row waits without the others.
 */
const GROUP_LOCK_MS = 1_000;

/** A `DeliveryStore` on a table of MySQL or MariaDB. */
export interface MysqlStore extends DeliveryStore, TableMaintenance {}

/**
 * A store on a table of MySQL or MariaDB, for several processes and hosts. The server's clock decides when
 * leases and retention end. Create the table first: `migrate()`, or the SQL of `mysqlSchema`.
 *
 * Needs MySQL 8.0.16 or MariaDB 10.6, or later, with `innodb_flush_log_at_trx_commit = 1`, their default.
 * Claims at the same time share a statement, and so do completions: each of at most 200 calls, on at most
 * two connections a verb. A call that fails, or waits for a locked row, is then sent on its own. Each
 * statement commits by itself and keeps nothing in the session. Any isolation level, `autocommit` off and
 * any options of the pool work.
 *
 * The server ends a statement that takes longer than the receiver's `dependencyTimeoutMs` (10 seconds if no
 * receiver uses the store). If the server does not answer at all, the connection is closed two seconds
 * later and the call rejects with an error with the code `lost_answer`. A row that was claimed and never completed is
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
  const durability = durabilityCheck(pool);
  const call = <T>(work: (run: Run) => Promise<T | undefined>): Promise<T> =>
    runCall(pool, { deadline: limits.deadline() }, work);

  /** Rejects at once if another transaction has one of the rows: MySQL limits a wait in whole seconds. */
  const checkLocks = async (
    calls: readonly KeyedCall[],
    wait: LockWait,
    run: Run,
  ): Promise<void> => {
    if (wait !== "none") return;
    const keys = calls.map(({ key }) => literal(key)).join();
    // By the index: in a small table MySQL would read, and so lock, every row.
    await run(`SELECT 1 FROM ${table} FORCE INDEX (PRIMARY)
      WHERE \`key\` IN (${keys}) FOR UPDATE NOWAIT`);
  };

  /** Runs a verb in groups. */
  const grouped = <Call extends KeyedCall, Result>(
    one: (table: string, call: Call, run: Run) => Promise<Result | undefined>,
    together: (
      table: string,
      calls: readonly Call[],
      run: Run,
    ) => Promise<readonly (Result | undefined)[]>,
  ) =>
    new CallGroups<Call, Result>({
      together: (calls, wait) =>
        runOnce(pool, { deadline: latestDeadline(calls), lockMs: GROUP_LOCK_MS }, async (run) => {
          await checkLocks(calls, wait, run);
          return together(table, calls, run);
        }),
      alone(call, wait) {
        const lockMs = wait === "long" ? undefined : GROUP_LOCK_MS;
        return runCall(pool, { deadline: call.deadline, lockMs }, async (run) => {
          await checkLocks([call], wait, run);
          return one(table, call, run);
        });
      },
      isLocked: isLockWaitOver,
    });

  const claims = grouped<ClaimCall, ClaimResult>(claimOne, claimTogether);
  const completions = grouped<CompleteCall, true>(completeOne, completeTogether);

  return {
    scope: own.table ?? DEFAULT_TABLE,

    async claim(key, owner, { leaseMs, retentionMs }) {
      const deadline = limits.deadline();
      const result = await claims.send({ key, owner, leaseMs, retentionMs, deadline });
      durability.check();
      return result;
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
        const { rows } = await run(lookStatement(table, [{ key, owner }]));
        return readKnown(rows)[0]?.state === "claimed";
      });
    },

    async complete(key, owner, { retentionMs }) {
      await completions.send({ key, owner, retentionMs, deadline: limits.deadline() });
    },

    async release(key, owner) {
      const mine = `\`key\` = ${literal(key)} AND owner = ${literal(owner)}`;
      await call(async (run) => {
        const deleted = await run(`DELETE FROM ${table} WHERE ${mine} AND takeover IS NOT TRUE`);
        // A takeover keeps its row and only its lease ends, so that the next claim is a takeover too: an
        // earlier run may have had its effect, however many later runs failed.
        return deleted.affectedRows > 0
          ? deleted
          : run(`UPDATE ${table} SET lease_until = ${NOW_MS} WHERE ${mine} AND takeover IS TRUE`);
      });
    },

    connectReceiver(receiver) {
      limits.allow(receiver.dependencyTimeoutMs);
      durability.connect(receiver);
    },

    ...maintenanceOf(own.pool, own.table),
  };
}
