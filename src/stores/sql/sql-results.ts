import { unexpectedResult } from "../../common/errors.js";
import { isObject } from "../../common/option-checks.js";
import { COMPLETED, inFlight, type ClaimResult } from "../delivery-store.js";
import { RETRY_AFTER_MS } from "../postgres/lease-statements.js";
import { STATE } from "./dialects.js";

/**
 * The rows of a SELECT, as ORMs and drivers give them: an array of rows, an array whose first element is that array, or
 * an object with `rows`. Throws `unexpected_result` for anything else.
 */
function rowsOf(result: unknown): readonly Readonly<Record<string, unknown>>[] {
  const given = isObject(result) ? result["rows"] : result;
  const rows: unknown = Array.isArray(given) && Array.isArray(given[0]) ? given[0] : given;
  if (Array.isArray(rows) && rows.every(isObject)) return rows;
  throw unexpectedResult("query must resolve to the rows of its statement, each an object");
}

/** What the rows of `look` say of a key; `ended` if it can be taken, undefined without a row. */
export function standingOf(result: unknown): ClaimResult | "ended" | undefined {
  const rows = rowsOf(result).map(({ state, takeover, remaining }) => ({
    // Without the column, a takeover would not be told.
    state: takeover === undefined ? Number.NaN : Number(state),
    // A boolean, a number or the text of one, as the driver likes.
    takeover: takeover === true || Number(takeover) === 1,
    leftMs: Number(remaining ?? RETRY_AFTER_MS),
  }));
  const [row] = rows.toSorted((a, b) => b.state - a.state);
  switch (row?.state) {
    case undefined:
      return undefined;
    case STATE.own:
      return { state: "claimed", takeover: row.takeover };
    case STATE.ended:
      return "ended";
    case STATE.inFlight:
      return inFlight(Math.max(1, row.leftMs));
    case STATE.completed:
      return COMPLETED;
    default:
      throw unexpectedResult("query resolved to the rows of another statement");
  }
}

/** What a database calls a transaction that it ended because of another one: it may be tried again. */
const CONFLICTS = [
  // PostgreSQL: serialization_failure, deadlock_detected.
  "40001",
  "40P01",
  // MySQL and MariaDB.
  "1213",
  "ER_LOCK_DEADLOCK",
  "1020",
  "ER_CHECKREAD",
  // Prisma, for any of them.
  "P2034",
];
/** What it calls a statement that waited too long for a row. */
const WAITS = ["55P03", "1205", "ER_LOCK_WAIT_TIMEOUT", "1969", "ER_STATEMENT_TIMEOUT"];
const CODE = /^(?:original)?(?:code|errno|sqlstate)$/i;
/** An error may lead to a whole connection. */
const MAX_OBJECTS = 100;

/** Whether the error, or one that it wraps in any property, names one of the codes. */
function names(error: unknown, codes: readonly string[], seen = new Set<unknown>()): boolean {
  if (typeof error !== "object" || error === null || seen.size === MAX_OBJECTS) return false;
  if (seen.has(error)) return false;
  seen.add(error);
  return Reflect.ownKeys(error).some((key) => {
    const value = valueOf(error, key);
    if (typeof key === "string" && CODE.test(key) && codes.includes(String(value))) return true;
    return names(value, codes, seen);
  });
}

/** A getter of an error may throw. */
function valueOf(error: object, key: PropertyKey): unknown {
  try {
    return Reflect.get(error, key) as unknown;
  } catch {
    return undefined;
  }
}

/** Whether the same transaction may succeed at the next attempt. */
export const isConflict = (error: unknown): boolean => names(error, CONFLICTS);
/** Whether a statement waited too long for a row of another transaction. */
export const isWaitOver = (error: unknown): boolean => names(error, WAITS);
/** Whether PostgreSQL takes nothing more, because an earlier statement of the transaction failed. */
export const isAborted = (error: unknown): boolean => names(error, ["25P02"]);
