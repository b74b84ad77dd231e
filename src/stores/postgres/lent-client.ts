import { LATE, TransactionMisuseError } from "../transactional-store.js";
import { statementHead } from "./statement-head.js";

/** A client in the hands of a handler. */
export interface LentClient<Client> {
  readonly tx: Client;
  /** From now on `tx` refuses whatever would reach the server, where the next delivery may be. */
  readonly close: () => void;
}

// Only the head of the first statement is looked at: what hides behind it is noticed at COMMIT, and a SET
// not at all.
const ENDS_TRANSACTION =
  /^(?:BEGIN|START TRANSACTION|COMMIT|END|ABORT|PREPARE TRANSACTION|ROLLBACK(?! (?:(?:WORK|TRANSACTION) )?TO(?: |$)))(?: |$)/i;
const OUTLIVES_TRANSACTION =
  /^(?:SET(?! (?:LOCAL|TRANSACTION|CONSTRAINTS)(?: |$))|DISCARD)(?: |$)/i;

const ENDING =
  "tx is in the transaction of its delivery, which the store ends: inside of it, use savepoints";
const OUTLIVING = "what SET changes would outlive the transaction: use SET LOCAL";
const RELEASING = "tx is given back by the store, when its transaction has ended";

/** Methods that only take listeners away, which a handler may do when it is late. */
const HARMLESS: ReadonlySet<PropertyKey> = new Set(["off", "removeListener"]);

/**
 * `client` for a handler: the same in all respects, but that it refuses what would end the transaction or
 * outlive it, and everything once it is closed.
 */
export function lend<Client extends object>(client: Client): LentClient<Client> {
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
      // On the client itself, whose own calls of its methods are not the handler's.
      return (...args: unknown[]): unknown => {
        const objection = objectionTo(property, args);
        if (objection !== undefined) {
          return refuse(property, args, new TransactionMisuseError(objection));
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

/** The text of what `query` was called with: itself, of a config, or of a cursor. */
function textOf(query: unknown): string {
  const { text = query } = Object(query) as { text?: unknown };
  return String(text);
}

/** In the way in which the call would fail: one that throws out of a timer would end the process. */
function refuse(property: PropertyKey, args: readonly unknown[], error: Error): unknown {
  if (property !== "query") throw error;
  const callback = args.at(-1);
  if (typeof callback !== "function") return Promise.reject(error);
  queueMicrotask(() => {
    Reflect.apply(callback, undefined, [error]);
  });
  return undefined;
}
