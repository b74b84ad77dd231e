import { transactionMisuse, LATE } from "../transaction-errors.js";

/** A handle that a handler may use until it has settled. */
export interface GuardedHandle<Database> {
  readonly tx: Database;
  /**
   * Makes `tx` and everything that came from it refuse later calls, and ends iterators that the handler
   * left open. Never throws.
   */
  readonly close: () => void;
}

const LATE_STATEMENT =
  "a statement of tx was used after its handler had settled: wait for everything that it started, and " +
  "prepare statements for several deliveries on the database itself";

type AnyFunction = (this: unknown, ...args: unknown[]) => unknown;
type Rows = Iterator<unknown, unknown>;

/** The variants of a function that `transaction` of better-sqlite3 returns. Each is a property of it. */
const TRANSACTION_FORMS = ["default", "deferred", "immediate", "exclusive"];
/** Makes rows iterable by `for`, with `map`, `take` and other iterator helpers if the engine has them. */
const ITERATOR_PROTOTYPE = Object.getPrototypeOf(
  Object.getPrototypeOf([].values()) as object,
) as object;

/**
 * `database` for a handler. It behaves like `database` until it is closed. Then it throws a
 * `transaction_misuse`, as do its statements, their rows and the functions of `transaction`.
 */
export function guardHandle<Database extends object>(database: Database): GuardedHandle<Database> {
  let isClosed = false;
  /** Iterators that the handler has neither read to their end nor ended. */
  const openRows = new Set<Rows>();

  const check = (late: string): void => {
    if (isClosed) throw transactionMisuse(late);
  };

  const guard = <T extends object>(native: T, late: string): T => {
    const guarded: T = new Proxy(native, {
      get(target, property) {
        // The native object must be `this`, here and below: the drivers accept no proxy.
        const value: unknown = Reflect.get(target, property);
        if (typeof value !== "function" || property in Object.prototype) return value;
        return (...args: unknown[]): unknown => {
          check(late);
          const answer: unknown = Reflect.apply(value, target, args);
          return answer === target ? guarded : guardAnswer(property, answer);
        };
      },
    });
    return guarded;
  };

  const guardAnswer = (method: PropertyKey, answer: unknown): unknown => {
    switch (method) {
      case "prepare":
      case "query":
      case "createTagStore":
        return guard(answer as object, LATE_STATEMENT);
      case "iterate":
      case Symbol.iterator:
        return guardRows(answer as Rows);
      case "transaction":
        return guardTransaction(answer as AnyFunction);
      default:
        return answer;
    }
  };

  const guardRows = (rows: Rows): Rows => {
    openRows.add(rows);
    const guarded = {
      __proto__: ITERATOR_PROTOTYPE,
      next() {
        check(LATE_STATEMENT);
        const result = rows.next();
        if (result.done === true) openRows.delete(rows);
        return result;
      },
      return(value?: unknown) {
        openRows.delete(rows);
        endRows(rows);
        return { done: true, value };
      },
    };
    return guarded;
  };

  const guardTransaction = (transaction: AnyFunction): AnyFunction => {
    const guardForm = (form: AnyFunction): AnyFunction =>
      function (...args) {
        check(LATE);
        return Reflect.apply(form, this, args);
      };
    const forms = TRANSACTION_FORMS.map((name) => {
      const form = Reflect.get(transaction, name) as AnyFunction;
      return [name, guardForm(form)] as const;
    });
    const properties = { ...Object.fromEntries(forms), database: tx };
    for (const [, form] of forms) Object.assign(form, properties);
    return Object.assign(guardForm(transaction), properties);
  };

  const tx = guard(database, LATE);
  return {
    tx,
    close() {
      isClosed = true;
      // better-sqlite3 cannot end a transaction while an iterator is open: the write lock would stay.
      for (const rows of openRows) endRows(rows);
      openRows.clear();
    },
  };
}

function endRows(rows: Rows): void {
  try {
    if (rows.return !== undefined) rows.return();
    // Iterators of libsql end only with their last row. Open ones keep the handle from writing later.
    else while (rows.next().done !== true);
  } catch {
    // If it is still open, COMMIT fails and says so.
  }
}
