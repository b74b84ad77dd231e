import { failsCallback, transactionMisuse, LATE } from "../transaction-errors.js";
import { isConflict } from "./errors.js";
import { endOf, firstWords } from "../first-words.js";

/** A connection that a handler may use until it has settled. */
interface GuardedConnection<Client> {
  readonly tx: Client;
  /** `tx` refuses every later call that would reach the server, where the next delivery may be running. */
  readonly close: () => void;
  /** The error of a statement of `tx` after which the server may have rolled the whole transaction back. */
  readonly conflict: () => unknown;
  /** The error of a statement of `tx` whose promise no one has used, so that the handler cannot know it. */
  readonly unseenError: () => unknown;
}

// Only the head of the first statement is read. A transaction that ends in a later statement of the same
// text, or in a procedure, is noticed at COMMIT; a SET there is not noticed.
const ENDS_TRANSACTION =
  /^(?:BEGIN|START|COMMIT|XA|ROLLBACK(?! (?:WORK )?TO(?: |$))|LOCK|UNLOCK)(?: |$)/i;
/** MySQL commits before and after each of these. */
const COMMITS =
  /^(?:ALTER|CREATE(?! (?:OR REPLACE )?TEMPORARY(?: |$))|DROP(?! TEMPORARY(?: |$))|RENAME|TRUNCATE|GRANT|REVOKE|ANALYZE|OPTIMIZE|REPAIR|CHECK|FLUSH|RESET|CACHE|LOAD INDEX|INSTALL|UNINSTALL|IMPORT|CHANGE|STOP|PURGE|BACKUP|CLONE|RESTART|SHUTDOWN)(?: |$)/i;
const OUTLIVES_TRANSACTION = /^(?:SET|USE)(?: |$)/i;

const ENDING = "the store begins and ends the transaction of tx: use savepoints inside it";
const COMMITTING =
  "this statement commits the transaction of tx, as MySQL does for everything that changes tables or rights: run it outside of the handler";
const OUTLIVING = "the effect of SET and USE would outlive the transaction";
const OWNED =
  "the store owns the connection of tx, and releases it after its transaction has ended";

/** Methods that end the transaction, or take the connection away from the store. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ...["beginTransaction", "commit", "rollback"].map((name) => [name, ENDING] as const),
  ...["release", "destroy", "end", "close", "reset", "changeUser"].map(
    (name) => [name, OWNED] as const,
  ),
]);
/** The methods of `using`, which release. Node 20 names their symbols differently. */
const DISPOSES = /^Symbol\(\w+\.(?:asyncD|d)ispose\)$/;
/** Methods that take a statement. */
const STATEMENTS: ReadonlySet<PropertyKey> = new Set(["query", "execute", "prepare"]);
/** Methods that a late handler may call. */
const HARMLESS: ReadonlySet<PropertyKey> = new Set(["off", "removeListener"]);
/** Methods that throw. All others return a promise. */
const SYNCHRONOUS =
  /^(?:release|destroy|close|escape|escapeId|format|on|once|addListener|pause|resume|unprepare|Symbol\(\w+\.dispose\))$/;

/** What is guarded: a connection with promises, one with callbacks, or a prepared statement. */
type Kind = "promises" | "callbacks" | "statement";

/**
 * `client` for a handler. It behaves like `client`, but refuses statements and methods that would end the
 * transaction or outlive it, and refuses everything once it is closed. The same is true of its prepared
 * statements and of `tx.connection`, the connection with callbacks. Its statements reject with `broken`.
 */
export function guardConnection<Client extends object>(
  client: Client,
  broken: Promise<never>,
): GuardedConnection<Client> {
  let isClosed = false;
  let conflict: unknown;
  const failures: { readonly statement: StatementPromise; readonly error: unknown }[] = [];

  const objectionTo = (
    kind: Kind,
    property: PropertyKey,
    args: readonly unknown[],
  ): string | undefined => {
    if (HARMLESS.has(property)) return undefined;
    if (isClosed) return LATE;
    if (kind === "statement") return undefined;
    if (!STATEMENTS.has(property)) {
      const name = String(property);
      return DISPOSES.test(name) ? OWNED : REFUSED.get(name);
    }
    const head = statementHead(textOf(args[0]));
    if (ENDS_TRANSACTION.test(head)) return ENDING;
    if (COMMITS.test(head)) return COMMITTING;
    return OUTLIVES_TRANSACTION.test(head) ? OUTLIVING : undefined;
  };

  const answerOf = (kind: Kind, answer: unknown, property: PropertyKey): unknown => {
    if (kind === "callbacks" || !STATEMENTS.has(property)) return answer;
    // A pool may have a promise library of its own.
    const settled = new StatementPromise((resolve) => resolve(Promise.race([answer, broken])));
    settled.watch((error) => {
      if (isConflict(error)) conflict = error;
      failures.push({ statement: settled, error });
    });
    if (property !== "prepare") return settled;
    return settled.then((statement: unknown) => guard(statement as object, "statement"));
  };

  const guard = <T extends object>(native: T, kind: Kind): T => {
    const guarded: T = new Proxy(native, {
      get(target, property) {
        const value: unknown = Reflect.get(target, property);
        if (property === "connection" && typeof value === "object" && value !== null) {
          return guard(value, "callbacks");
        }
        if (typeof value !== "function" || property === "constructor") return value;
        // It would make a connection that is not guarded.
        if (property === "promise") return () => tx;
        // With `target` as `this`, so that calls which the connection makes to itself are not checked.
        return (...args: unknown[]): unknown => {
          const objection = objectionTo(kind, property, args);
          if (objection !== undefined) return refuse(kind, property, args, objection);
          const answer: unknown = Reflect.apply(value, target, args);
          return answer === target ? guarded : answerOf(kind, answer, property);
        };
      },
    });
    return guarded;
  };

  const tx: Client = guard(client, "promises");
  return {
    tx,
    close() {
      isClosed = true;
    },
    conflict: () => conflict,
    unseenError: () => failures.find(({ statement }) => !statement.isUsed)?.error,
  };
}

/**
 * The promise of a statement. It knows whether it was used, be it by `await`. A promise that `then` makes of
 * it is a plain one, so that Node reports its rejection if no one handles it.
 */
class StatementPromise extends Promise<unknown> {
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  isUsed = false;

  /** Calls `onFailure` if it rejects. Does not count as a use. */
  watch(onFailure: (error: unknown) => void): void {
    void super.then(undefined, onFailure);
  }

  override then<A = unknown, B = never>(
    onFulfilled?: ((value: unknown) => A | PromiseLike<A>) | null,
    onRejected?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.isUsed = true;
    return super.then(onFulfilled, onRejected);
  }
}

/** The text of the first argument of a statement: a string, or an object with options. */
function textOf(statement: unknown): string {
  const { sql = statement } = Object(statement) as { sql?: unknown };
  return String(sql);
}

/** Fails as the call itself would: a statement must not throw, since in a timer that would end the process. */
function refuse(
  kind: Kind,
  property: PropertyKey,
  args: readonly unknown[],
  objection: string,
): unknown {
  const error = transactionMisuse(objection);
  if (kind === "callbacks" && failsCallback(args, error)) return undefined;
  if (kind === "callbacks" || SYNCHRONOUS.test(String(property))) throw error;
  return Promise.reject(error);
}

/** `CREATE OR REPLACE TEMPORARY` needs the most words to be told apart. */
const WORDS = 4;

// The patterns are sticky, so that each is tried once at a position and the time grows in proportion to
// the text. `/*! … */` and `/*M! … */` are no comments: the server executes what is in them.
const BLANK =
  /[\s\0]+|#[^\n]*|--(?=[\s\0-\x1f]|$)[^\n]*|\/\*M?!\d*|\/\*(?!M?!)(?:[^*]|\*(?!\/))*\*\/|\*\//y;
/** A keyword, or a name with its dots. */
const WORD = /[\w$.@\u0080-\uffff]+/y;

/**
 * The first words, at most four, of the first statement in `text` that is not empty. They keep their
 * case, are separated by one space, and leave out comments. The head ends before anything but a word.
 */
function statementHead(text: string): string {
  let at = skip(text, 0);
  while (text[at] === ";") at = skip(text, at + 1);
  return firstWords(text, at, WORDS, WORD, skip);
}

/** The position after white space and comments. */
function skip(text: string, from: number): number {
  let at = from;
  for (let end = endOf(BLANK, text, at); end > at; end = endOf(BLANK, text, at)) at = end;
  return at;
}
