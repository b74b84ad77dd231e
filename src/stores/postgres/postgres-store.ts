import type { TableMaintenance } from "../table-maintenance.js";
import {
  type ClaimCall,
  type CompleteCall,
  CallGroups,
  latestDeadline,
  type KeyedCall,
  type LockWait,
} from "../call-groups.js";
import { booleanOption } from "../../common/option-checks.js";
import { ErrorListenerCheck } from "../../common/error-listeners.js";
import type { Deadline } from "../call-limits.js";
import { retryConflicts } from "../conflict-retry.js";
import type { ClaimResult, DeliveryStore } from "../delivery-store.js";
import { maintenanceOf } from "./maintenance.js";
import { SQLSTATE, sqlStateOf } from "./errors.js";
import { leaseStatements, readClaimRows } from "./lease-statements.js";
import { DEFAULT_TABLE } from "../quoted-table.js";
import { poolOptions, quotedTable, type PostgresPool } from "./postgres-pool.js";
import { PreparedStatements } from "./prepared-statements.js";
import { isPool, query } from "./query.js";
import { StatementLimits } from "./statement-limits.js";

/**
 * How long a group waits for a row that another transaction has, in milliseconds. Then the call for that
 * row waits without the others.
 */
const GROUP_LOCK_MS = 100;
/** How long a call waits for a row if it knows of locked rows. PostgreSQL takes 0 for no limit. */
const KNOWN_LOCK_MS = 5;
const LOCK_MS = { none: KNOWN_LOCK_MS, brief: GROUP_LOCK_MS, long: undefined };

/** Options of `postgresStore`. */
export interface PostgresStoreOptions {
  /**
   * A `Pool` of pg 8. Add a listener for its `error`: without one, an idle connection that breaks ends the
   * process. Anything else with the same `query` works too, if it closes connections that no longer answer.
   */
  readonly pool: PostgresPool;
  /**
   * `table` or `schema.table`, case-sensitive, each part 1 to 63 letters, digits and `_` with no digit
   * first. Default `gateway_deliveries`. Give each application its own table.
   */
  readonly table?: string | undefined;
  /**
   * Whether connections prepare the statements of claims and completions, or the one that each transaction begins with,
   * so that the server parses and plans them once and not at every call. Default false: behind a pooler in transaction
   * mode (PgBouncer) it makes calls slower, although not wrong.
   */
  readonly prepare?: boolean | undefined;
}

/** A `DeliveryStore` on a table of PostgreSQL. */
export interface PostgresStore extends DeliveryStore, TableMaintenance {}

/**
 * A store on a table of PostgreSQL, for several processes and hosts. The server's clock decides when
 * leases and retention end. Create the table first: `migrate()`, or the SQL of `postgresSchema`.
 *
 * Needs PostgreSQL 12 or later. Calls at the same time share a transaction: claims one, completions
 * another, each of at most 200 calls, on at most two connections a verb. A call that fails, or waits for a
 * locked row, is then sent on its own and delays no other. Without `prepare` nothing is kept in the session,
 * so a pooler in transaction mode (PgBouncer) works; any isolation level does.
 *
 * The server ends a call that takes longer than the receiver's `dependencyTimeoutMs` (10 seconds if no
 * receiver uses the store). If the server does not answer at all, the connection is closed two seconds
 * later and the call rejects with an error with the code `lost_answer`. A row that was claimed and never completed is
 * remembered for the retention, counted from its last claim.
 *
 * @throws ConfigurationError (`unknown_option`, `invalid_option`, `invalid_options`) for options that
 * cannot work; (`unsupported_version`) for a pool of a version that cannot work.
 * @example
 * const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
 * pool.on("error", console.error);
 * const store = postgresStore({ pool });
 * await store.migrate();
 * const receiver = createWebhookReceiver({ secret, store, handlers });
 */
export function postgresStore(options: PostgresStoreOptions): PostgresStore {
  const own = poolOptions("postgresStore", options, ["query"], ["prepare"]);
  const { pool, table } = own;
  const statements = leaseStatements(quotedTable(table));
  const limits = new StatementLimits();
  const errorListener = new ErrorListenerCheck("the pool of pg", pool);
  const prepared = booleanOption("prepare", own.prepare, false)
    ? new PreparedStatements()
    : undefined;

  const run = (deadline: Deadline, statement: string, values: unknown[], lockMs?: number) =>
    query(pool, limits, { deadline, lockMs, prepared }, statement, values);

  const retried = <T>(attempt: () => Promise<T | undefined>): Promise<T> =>
    retryConflicts(attempt, limits.mayRetry);

  /** Runs `verb` in groups if `pool` is known to have several connections. */
  const grouped = <Call extends KeyedCall, Result>(
    verb: (calls: readonly Call[], lockMs?: number) => Promise<readonly (Result | undefined)[]>,
  ): ((call: Call) => Promise<Result>) => {
    const alone = (call: Call, wait: LockWait) =>
      retried(async () => (await verb([call], LOCK_MS[wait]))[0]);
    if (!isPool(pool)) return (call) => alone(call, "long");
    const groups = new CallGroups<Call, Result>({
      together: (calls, wait) => verb(calls, LOCK_MS[wait]),
      alone,
      isLocked: (error) => sqlStateOf(error) === SQLSTATE.lockNotAvailable,
    });
    return (call) => groups.send(call);
  };

  const claim = grouped<ClaimCall, ClaimResult>(async (calls, lockMs) => {
    const deadline = latestDeadline(calls);
    const keys = calls.map(({ key }) => key);
    const { rows } = await run(deadline, ...statements.claim(calls), lockMs);
    const results = readClaimRows(keys, rows);
    const refused = keys.filter((key) => !results.has(key));
    if (refused.length === 0) return keys.map((key) => results.get(key));
    try {
      const known = await run(deadline, statements.look, [refused], lockMs);
      for (const [key, result] of readClaimRows(refused, known.rows)) results.set(key, result);
    } catch (error) {
      // The others are granted, and their deliveries must run. The refused ones are then asked alone.
      if (results.size === 0) throw error;
    }
    return keys.map((key) => results.get(key));
  });

  const complete = grouped<CompleteCall, true>(async (calls, lockMs) => {
    await run(latestDeadline(calls), ...statements.complete(calls), lockMs);
    return calls.map(() => true);
  });

  return {
    scope: table ?? DEFAULT_TABLE,

    claim(key, owner, { leaseMs, retentionMs }) {
      errorListener.check?.();
      return claim({ key, owner, leaseMs, retentionMs, deadline: limits.deadline() });
    },

    async renew(key, owner, { leaseMs }) {
      const deadline = limits.deadline();
      const renewing = () => run(deadline, statements.renew, [key, owner, leaseMs]);
      return (await retried(renewing)).rowCount === 1;
    },

    async complete(key, owner, { retentionMs }) {
      await complete({ key, owner, retentionMs, deadline: limits.deadline() });
    },

    async release(key, owner) {
      const deadline = limits.deadline();
      await retried(() => run(deadline, statements.release, [key, owner]));
    },

    connectReceiver(receiver) {
      errorListener.connect(receiver);
      limits.allow(receiver.dependencyTimeoutMs);
    },

    ...maintenanceOf(pool, table),
  };
}
