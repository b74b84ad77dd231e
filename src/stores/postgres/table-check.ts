import { ConfigurationError } from "../../common/errors.js";
import type { PostgresPool } from "./postgres-pool.js";

// What the statements of the stores need: their columns, no other that has to be given, and one row a key.
const IS_OURS = `
  SELECT relkind IN ('r', 'p')
    AND 5 = (
      SELECT count(*) FROM pg_attribute
      WHERE attrelid = pg_class.oid AND NOT attisdropped AND (attname, atttypid) IN (
        ('expires_at', 'timestamptz'::regtype), ('lease_until', 'timestamptz'::regtype),
        ('key', 'text'::regtype), ('owner', 'text'::regtype), ('takeover', 'boolean'::regtype)
      )
    )
    AND NOT EXISTS (
      SELECT FROM pg_attribute
      WHERE attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped AND attnotnull AND CASE
        WHEN attname IN ('key', 'expires_at') THEN false
        WHEN attname IN ('owner', 'lease_until') THEN true
        ELSE NOT atthasdef AND attidentity = ''
      END
    )
    AND EXISTS (
      SELECT FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
      WHERE indrelid = pg_class.oid AND attname = 'key' AND indnkeyatts = 1
        AND indisunique AND indisvalid AND indimmediate AND indpred IS NULL
    ) AS is_ours
  FROM pg_class WHERE oid = to_regclass($1)`;

/**
 * Whether the table is there; `table` as it stands in SQL. Reads the catalogue alone, for which a role
 * needs no right, and waits for no lock.
 *
 * @throws ConfigurationError for one that is not the store's: every delivery would be answered 503.
 */
export async function isTableThere(pool: PostgresPool, table: string): Promise<boolean> {
  const { rows } = await pool.query(IS_OURS, [table]);
  const [row] = rows as readonly { readonly is_ours: boolean }[];
  if (row === undefined) return false;
  if (row.is_ours) return true;
  throw new ConfigurationError(
    "invalid_option",
    `table ${table} exists and is not the store's: give the name of another`,
  );
}
