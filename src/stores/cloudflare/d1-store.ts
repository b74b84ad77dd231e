import { missingMethod, ownOptions } from "../../common/option-checks.js";
import { GatewayWebhookError, invalidOption } from "../../common/errors.js";
import {
  CLAIMED,
  COMPLETED,
  TAKEN_OVER,
  inFlight,
  type ClaimResult,
  type DeliveryStore,
} from "../delivery-store.js";
import { batchRowsOf, type PurgeOptions } from "../purge-options.js";
import { tableName } from "../sqlite-table.js";
import type { D1Binding } from "./d1-binding.js";
import { D1Batches } from "./d1-batches.js";
import { d1Statements } from "./d1-statements.js";

/** Options of `d1Store`. */
export interface D1StoreOptions {
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
  const batches = new D1Batches(checkBinding(own.database), table);
  const sql = d1Statements(table);

  return {
    async claim(key, owner, { leaseMs, retentionMs }) {
      const [, row] = await batches.run(
        [sql.claim, key, owner, leaseMs, retentionMs],
        [sql.look, key],
      );
      return claimResultOf(row?.[0], owner);
    },

    async renew(key, owner, { leaseMs }) {
      const [renewed] = await batches.run([sql.renew, key, owner, leaseMs]);
      return renewed?.length === 1;
    },

    async complete(key, _owner, { retentionMs }) {
      await batches.run([sql.complete, key, retentionMs]);
    },

    async release(key, owner) {
      await batches.run([sql.endTakeover, key, owner], [sql.forget, key, owner]);
    },

    async purge(given = {}) {
      const batchRows = batchRowsOf(given);
      let purged = 0;
      let last = "";
      for (;;) {
        // Takes the key to start behind and the number of rows.
        const [removed = []] = await batches.run([sql.purge, last, batchRows]);
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
  throw new GatewayWebhookError("unexpected_result", "D1 returned no row for a claim");
}
