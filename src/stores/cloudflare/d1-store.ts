import { deliveryStatements, tableName, NOW, createTableSql } from "../sqlite-table.js";
import { unexpectedResult, GatewayWebhookError, invalidOption } from "../../common/errors.js";
import { missingMethod, ownOptions } from "../../common/option-checks.js";
import {
  CLAIMED,
  COMPLETED,
  TAKEN_OVER,
  inFlight,
  type ClaimResult,
  type DeliveryStore,
} from "../delivery-store.js";
import { batchRowsOf, type PurgeOptions } from "../table-maintenance.js";
import { pause } from "../../common/timers.js";

/** A value that the store binds to a statement. */
type D1Value = string | number;

/** The part of the result of a statement that the store reads. */
export interface D1Result {
  readonly results: readonly unknown[];
}

/** A prepared statement of D1. */
export interface D1Statement {
  bind(...values: D1Value[]): D1Statement;
}

/**
 * The part of a D1 binding that the store uses. The `D1Database` of `@cloudflare/workers-types` and of
 * `wrangler types` has it.
 */
export interface D1Binding {
  prepare(sql: string): D1Statement;
  /** Runs the statements in one transaction. */
  batch(statements: D1Statement[]): Promise<readonly D1Result[]>;
  /** A session has it, the binding itself does not. */
  readonly getBookmark?: undefined;
}
/** Options of `d1Store`. */
interface D1StoreOptions {
  /** The D1 binding of the Worker, such as `env.DB`. Not a session of it (`withSession`). */
  readonly database: D1Binding;
  /**
   * The table, which a migration has created (`d1Schema`). 1 to 64 letters, digits and `_`, with no digit
   * first and no `sqlite_` or `_cf_` in front. Default `gateway_deliveries`.
   */
  readonly table?: string | undefined;
}

/** A `DeliveryStore` on a table of Cloudflare D1. */
export interface D1Store extends DeliveryStore {
  /**
   * Deletes the rows whose retention has ended, in batches, and resolves to the number of deleted rows. It
   * may run beside traffic and beside itself. Call it once an hour or once a day, by a cron trigger: such
   * rows already count as absent, and only take space. It reads each row of the table once. Each batch is one of
   * the queries that an invocation of a Worker may make (50 on the free plan), and other queries wait for it.
   *
   * Rejects with a `ConfigurationError` for an unknown option or a `batchRows` out of its bounds, and
   * with the error of the database.
   *
   * @example
   * export default {
   *   fetch: fetchHandler(receiver),
   *   scheduled: (_event, _env, ctx) => ctx.waitUntil(store.purge()),
   * };
   */
  purge(options?: PurgeOptions): Promise<number>;
}

/**
 * A store on a table of Cloudflare D1, for all isolates of a Worker in all places. Create the table by a
 * migration first (`d1Schema`, or `sql/d1.sql` of the package). Making the store reads and writes nothing,
 * so it may be made while the module loads.
 *
 * Each method is one batch, which D1 runs as one transaction in the primary database, by the clock of that
 * database. It is tried up to three times while D1 reports a failure that ends by itself, such as a lost
 * connection. Each method may be repeated without harm. Any other failure rejects, and a claim is then
 * answered 503.
 *
 * A key that was claimed and never completed is remembered for the retention, counted from its last claim.
 *
 * @throws ConfigurationError (`unknown_option`, `invalid_option`, `invalid_options`) for options that
 * cannot work, and for a session of a database.
 * @example
 * import { env } from "cloudflare:workers";
 *
 * const store = d1Store({ database: env.DB });
 * const receiver = createWebhookReceiver({ secret: env.GATEWAY_WEBHOOK_SECRET, store, handlers });
 * export default { fetch: fetchHandler(receiver) };
 */
export function d1Store(options: D1StoreOptions): D1Store {
  const own = ownOptions("d1Store", options, ["database", "table"]);
  const table = tableName(own.table);
  const database = checkBinding(own.database);
  const run = (...statements: BoundSql[]) => runBatch(database, table, ...statements);
  const sql = d1Statements(table);

  return {
    scope: table,

    async claim(key, owner, { leaseMs, retentionMs }) {
      const [, row] = await run([sql.claim, key, owner, leaseMs, retentionMs], [sql.look, key]);
      return claimResultOf(row?.[0], owner);
    },

    async renew(key, owner, { leaseMs }) {
      const [renewed] = await run([sql.renew, leaseMs, leaseMs, key, owner]);
      return renewed?.length === 1;
    },

    async complete(key, _owner, { retentionMs }) {
      await run([sql.complete, key, retentionMs]);
    },

    async release(key, owner) {
      await run([sql.endTakeover, key, owner], [sql.forget, key, owner]);
    },

    async purge(given = {}) {
      const batchRows = batchRowsOf(given);
      let purged = 0;
      let last = "";
      for (;;) {
        // Takes the key to start behind and the number of rows.
        const [removed = []] = await run([sql.purge, last, batchRows]);
        purged += removed.length;
        if (removed.length < batchRows) return purged;
        // RETURNING promises no order.
        for (const row of removed) {
          const key = String((row as { key: unknown }).key);
          if (key > last) last = key;
        }
      }
    },
  };
}

function checkBinding(database: D1Binding): D1Binding {
  if (missingMethod(database, ["prepare", "batch"]) !== undefined) {
    throw invalidOption(
      "database must be a D1 binding such as env.DB, with prepare and batch: is it named in " +
        "d1_databases of the Wrangler file?",
    );
  }
  if (missingMethod(database, ["getBookmark"]) === undefined) {
    throw invalidOption(
      "database must be the D1 binding itself, not a session of it: a session may read from a replica " +
        "that does not know the latest deliveries",
    );
  }
  return database;
}

/** Reads the row that a claim has left behind: there is always one. */
function claimResultOf(row: unknown, owner: string): ClaimResult {
  const { owner: holder, takeover, left_ms } = Object(row) as Record<string, unknown>;
  if (holder === null) return COMPLETED;
  if (holder === owner) return Number(takeover) === 1 ? TAKEN_OVER : CLAIMED;
  if (typeof holder === "string") return inFlight(Math.max(1, Number(left_ms)));
  throw unexpectedResult("D1 returned no row for a claim");
}

/** The text of a statement, and the values of its parameters `?1`, `?2` … */
type BoundSql = readonly [sql: string, ...values: D1Value[]];

/**
 * The failures that D1's documentation tells to retry: the network, and a database that moves or restarts.
 * "D1 DB is overloaded" is not one of them, since every retry would add to the load.
 */
const TRANSIENT =
  /network connection lost|storage caused object to be reset|reset because its code was updated|transient issue on remote node/i;

/**
 * The pauses before the second and the third attempt, in milliseconds. Each is drawn between its half and
 * the whole, so that Workers that failed together do not return together.
 */
const PAUSES_MS = [100, 400];

/** Runs statements in one transaction, which must be harmless if it runs twice. Resolves to the rows of each. */
export async function runBatch(
  database: D1Binding,
  table: string,
  ...statements: BoundSql[]
): Promise<(readonly unknown[])[]> {
  const bound = statements.map(([sql, ...values]) => database.prepare(sql).bind(...values));
  for (let attempt = 0; ; attempt += 1) {
    try {
      return (await database.batch(bound)).map(({ results }) => results);
    } catch (error) {
      const pauseMs = PAUSES_MS[attempt];
      // The same call may succeed within a second. It may have been committed: its answer was lost.
      const mayRetry = pauseMs !== undefined && TRANSIENT.test(String(error));
      if (!mayRetry) throw namedD1Error(error, table);
      await pause(pauseMs * (0.5 + Math.random() / 2));
    }
  }
}

/** The error that names what is missing. Any other error is returned unchanged. */
function namedD1Error(error: unknown, table: string): unknown {
  if (!String(error).includes(`no such table: ${table}:`)) return error;
  return new GatewayWebhookError(
    "missing_table",
    `the database has no table ${table}: put the SQL of d1Schema() into a migration, and run ` +
      "`wrangler d1 migrations apply <database> --remote` (`--local` for wrangler dev)",
    { cause: error },
  );
}

/** The statements on the table. Each writes, so D1 never runs a batch of them on a read replica. */
export function d1Statements(table: string) {
  const rows = `"${table}"`;
  const shared = deliveryStatements(rows);
  return {
    // Inserts the row, takes it over, or changes nothing. The owner of the lease may claim again.
    claim: `INSERT INTO ${rows} AS held (key, owner, lease_ends_at, forget_at)
      VALUES (?1, ?2, ${NOW} + ?3, ${NOW} + max(?3, ?4))
      ON CONFLICT (key) DO UPDATE SET
        owner = excluded.owner,
        lease_ends_at = excluded.lease_ends_at,
        forget_at = excluded.forget_at,
        takeover = held.forget_at > ${NOW} AND (held.takeover = 1 OR held.lease_ends_at <= ${NOW})
      WHERE held.forget_at <= ${NOW} OR held.lease_ends_at <= ${NOW} OR held.owner = excluded.owner`,

    // Runs in the transaction of the claim: says who holds the key now.
    look: `SELECT owner, takeover, lease_ends_at - ${NOW} AS left_ms FROM ${rows} WHERE key = ?1`,

    ...shared,
    renew: `${shared.renew} RETURNING 1`,

    // There is no index on forget_at: it would cost a written row for each claim and each completion. So
    // each batch goes on behind the last key of the one before.
    purge: `DELETE FROM ${rows} WHERE key IN (
        SELECT key FROM ${rows} WHERE key > ?1 AND forget_at <= ${NOW} ORDER BY key LIMIT ?2
      ) RETURNING key`,
  };
}

/**
 * The SQL that creates the table of `d1Store`, for a migration of wrangler. The package contains it for
 * the default table as `sql/d1.sql`. Running it again changes nothing.
 *
 * @param table 1 to 64 letters, digits and `_`, with no digit first and no `sqlite_` or `_cf_` in front.
 * Default `gateway_deliveries`.
 * @throws ConfigurationError (`invalid_option`) if `table` is not such a name.
 * @example
 * writeFileSync("migrations/0001_gateway_deliveries.sql", d1Schema());
 * @example In a test, where wrangler applies no migration.
 * await env.DB.prepare(d1Schema()).run();
 */
export function d1Schema(table?: string): string {
  return `-- identity-gateway-webhooks/cloudflare: the deliveries that were handled or are being handled.
-- Times are Unix milliseconds. A row without an owner is handled. A row counts as absent from its
-- forget_at on, and purge() removes it.
${createTableSql(tableName(table))};
`;
}
