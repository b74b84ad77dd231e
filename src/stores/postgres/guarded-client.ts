import { failsCallback, transactionMisuse, LATE } from "../transaction-errors.js";
import { endOf, firstWords } from "../first-words.js";

/** A client that a handler may use until it has settled. */
interface GuardedClient<Client> {
  readonly tx: Client;
  /** `tx` refuses every later call that would reach the server, where the next delivery may be running. */
  readonly close: () => void;
}

// Only the head of the first statement is read. A transaction that ends in a later statement of the same
// text is noticed at COMMIT; a SET there is not noticed.
const ENDS_TRANSACTION =
  /^(?:BEGIN|START TRANSACTION|COMMIT|END|ABORT|PREPARE TRANSACTION|ROLLBACK(?! (?:(?:WORK|TRANSACTION) )?TO(?: |$)))(?: |$)/i;
const OUTLIVES_TRANSACTION =
  /^(?:SET(?! (?:LOCAL|TRANSACTION|CONSTRAINTS)(?: |$))|RESET|DISCARD)(?: |$)/i;

const ENDING = "the store begins and ends the transaction of tx: use savepoints inside it";
const OUTLIVING = "the effect of SET would outlive the transaction: use SET LOCAL";
const RELEASING = "the store releases tx after its transaction has ended";

/** Methods that only remove listeners. A late handler may call them. */
const HARMLESS: ReadonlySet<PropertyKey> = new Set(["off", "removeListener"]);

/**
 * `client` for a handler. It behaves like `client`, but refuses statements that would end the transaction
 * or outlive it, and refuses everything once it is closed.
 */
export function guardClient<Client extends object>(client: Client): GuardedClient<Client> {
  let isClosed = false;

  const objectionTo = (property: PropertyKey, args: readonly unknown[]): string | undefined => {
    if (HARMLESS.has(property)) return undefined;
    if (isClosed) return LATE;
    if (property === "release") return RELEASING;
    if (property !== "query") return undefined;
    const head = statementHead(textOf(args[0]));
    if (ENDS_TRANSACTION.test(head)) return ENDING;
    return OUTLIVES_TRANSACTION.test(head) ? OUTLIVING : undefined;
  };

  const tx: Client = new Proxy(client, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== "function" || property === "constructor") return value;
      // With `target` as `this`, so that calls which the client makes to itself are not checked.
      return (...args: unknown[]): unknown => {
        const objection = objectionTo(property, args);
        if (objection !== undefined) {
          return refuse(property, args, transactionMisuse(objection));
        }
        const answer: unknown = Reflect.apply(value, target, args);
        return answer === target ? tx : answer;
      };
    },
  });

  return {
    tx,
    close() {
      isClosed = true;
    },
  };
}

/** The text of the first argument of `query`: a string, a config object or a cursor. */
function textOf(query: unknown): string {
  const { text = query } = Object(query) as { text?: unknown };
  return String(text);
}

/** Fails as the call itself would: `query` must not throw, since in a timer that would end the process. */
function refuse(property: PropertyKey, args: readonly unknown[], error: Error): unknown {
  if (property !== "query") throw error;
  return failsCallback(args, error) ? undefined : Promise.reject(error);
}

/** `ROLLBACK WORK TO` needs the most words to be told apart. */
const WORDS = 3;

// White space and line comments as the server defines them. The patterns are sticky, so that each is tried
// once at a position and the time grows in proportion to the text.
const SPACE = /[ \t\n\r\f\v]+|--[^\n\r]*/y;
const SPACE_OR_NOTHING = /[ \t\n\r\f\v;]+|--[^\n\r]*/y;
/** A keyword, or a name with its dots: `local.role` is not `LOCAL`. */
const WORD = /[\w$.\u0080-\uffff]+/y;
const COMMENT_EDGE = /\/\*|\*\//g;

/**
 * The first words, at most three, of the first statement in `text` that is not empty. They keep their
 * case, are separated by one space, and leave out comments. The head ends before anything but a word.
 */
function statementHead(text: string): string {
  const start = skip(text, 0, SPACE_OR_NOTHING);
  return firstWords(text, start, WORDS, WORD, skip);
}

/** The position after `space` and comments. */
function skip(text: string, from: number, space = SPACE): number {
  let at = from;
  for (;;) {
    const start = at;
    at = endOf(space, text, at);
    if (text.startsWith("/*", at)) at = endOfComment(text, at);
    if (at === start) return at;
  }
}

/** The end of the block comment at `start`. Block comments nest in PostgreSQL. */
function endOfComment(text: string, start: number): number {
  let depth = 0;
  COMMENT_EDGE.lastIndex = start;
  for (;;) {
    const edge = COMMENT_EDGE.exec(text);
    // The server refuses a text whose comment does not end.
    if (edge === null) return text.length;
    depth += edge[0] === "/*" ? 1 : -1;
    if (depth === 0) return COMMENT_EDGE.lastIndex;
  }
}
