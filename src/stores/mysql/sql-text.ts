/** The bytes of a key or an owner that the columns hold. */
export const TEXT_BYTES = 255;
/** Retention and leases are capped at a century, far below the largest BIGINT. */
const CENTURY_MS = 3_155_760_000_000;

/**
 * SQL for the server's clock in Unix milliseconds, at the moment of evaluation. NOW() is the start of the
 * statement, which may have waited for a row since, and the session can set it. SYSDATE() is the real
 * time, but in the time zone of the session, where an hour occurs twice a year: so the offset of that
 * zone is subtracted.
 */
export const NOW_MS =
  "((TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6))" +
  " - TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), NOW(6))) DIV 1000)";

/** SQL for the time in `ms` milliseconds from now. */
export function fromNow(ms: number): string {
  return `(${NOW_MS} + ${String(Math.min(Math.ceil(ms), CENTURY_MS))})`;
}

/**
 * `value` as a literal of its UTF-8 bytes. It needs no escaping, which would depend on `sql_mode` and on
 * the character set of the connection, and no parameter, which pools can be set to format differently.
 *
 * @throws RangeError for a value that a server without strict mode would truncate, so that two deliveries
 * became one.
 */
export function literal(value: string): string {
  const bytes = new TextEncoder().encode(value);
  if (bytes.length > TEXT_BYTES) {
    throw new RangeError(`keys and owners have at most ${String(TEXT_BYTES)} bytes in MySQL`);
  }
  return `x'${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}'`;
}

/**
 * `statement` with a limit of `ms` milliseconds after which the server ends it, for this statement only:
 * a SET would reach other users of the connection. MariaDB executes the first comment, and its limit
 * holds for the whole statement. MySQL reads the second one, and limits the waits for locks, in seconds.
 *
 * @param lockMs The longest wait for one lock, also rounded up to seconds. Default `ms`.
 */
export function limited(statement: string, ms: number, lockMs = ms): string {
  const [verb = "", ...rest] = statement.split(" ");
  const seconds = String(Math.max(1, Math.ceil(Math.min(ms, lockMs) / 1_000)));
  const waits = ["lock_wait_timeout", "innodb_lock_wait_timeout"];
  const set = [`max_statement_time = ${(ms / 1_000).toFixed(3)}`];
  if (lockMs < ms) set.push(...waits.map((name) => `${name} = ${seconds}`));
  return [
    `/*M! SET STATEMENT ${set.join(", ")} FOR */`,
    verb,
    `/*+ ${waits.map((name) => `SET_VAR(${name} = ${seconds})`).join(" ")} */`,
    ...rest,
  ].join(" ");
}
