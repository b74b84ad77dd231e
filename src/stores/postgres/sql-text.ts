// Every statement reads clock_timestamp(). now() is the start of the transaction, which may lie long
// before: the statement waited for a row, or a handler ran first.

/** SQL for a time in the future: now plus the milliseconds in `parameter`, such as `$3`. */
export function fromNow(parameter: string): string {
  // A timestamptz ends in the year 294276, so the duration is capped at a century.
  return `clock_timestamp() + least(${parameter}::float8, 3155760000000) * interval '1 millisecond'`;
}

/** SQL for the milliseconds until `lease_until`; at least 1. */
export const LEASE_LEFT_MS =
  "greatest(1, ceil(extract(epoch FROM lease_until - clock_timestamp()) * 1000))::float8";

/** The rest of a SELECT that says what holds the rows that `where` names: columns, table and condition. */
export function lookOf(table: string, where: string): string {
  return `CASE WHEN owner IS NULL THEN 'completed' ELSE 'in_flight' END AS state,
        ${LEASE_LEFT_MS} AS retry_after_ms
      FROM ${table}
      WHERE ${where} AND expires_at > clock_timestamp()
        AND (owner IS NULL OR lease_until > clock_timestamp())`;
}

/**
 * SQL that makes COMMIT wait until the transaction is on disk, even if the server, the role or the handler
 * turned that off: the gateway does not send an acknowledged delivery again after a crash. A stricter
 * setting stays. The change ends with the transaction.
 */
export const SYNCHRONOUS_COMMIT =
  "set_config('synchronous_commit', replace(current_setting('synchronous_commit'), 'off', 'on'), true)";

/**
 * SQL that takes the lock of a key for the rest of the transaction, and says whether it is held. Only one transaction at a
 * time has it. `table` is a quoted name, `key` is SQL.
 */
export function lockOf(table: string, key: string): string {
  return `pg_try_advisory_xact_lock(
      hashtextextended(${key}::text COLLATE "C", '${table}'::regclass::oid::bigint))`;
}

/**
 * `statement` with its parameters `$1`, `$2` … replaced by literals. The settings that limit a statement
 * are sent in the same text: one round trip, and one transaction. Such a text takes no parameters.
 */
export function inlineParameters(statement: string, values: readonly unknown[]): string {
  return statement.replace(/\$(\d+)/g, (_, number: string) => literal(values[Number(number) - 1]));
}

/**
 * `value` as a literal without a type, so that PostgreSQL infers it from the context, as for a parameter.
 * An array becomes the text of a PostgreSQL array.
 */
export function literal(value: unknown): string {
  const text = Array.isArray(value) ? arrayText(value) : String(value);
  // The wire format ends a text at this character.
  if (text.includes("\0")) throw new TypeError("PostgreSQL takes no text with U+0000");
  const quoted = `'${text.replaceAll("'", "''")}'`;
  // E'…' means the same with any standard_conforming_strings.
  return text.includes("\\") ? ` E${quoted.replaceAll("\\", "\\\\")}` : quoted;
}

function arrayText(values: readonly unknown[]): string {
  const elements = values.map((value) => `"${String(value).replace(/["\\]/g, "\\$&")}"`);
  return `{${elements.join()}}`;
}
