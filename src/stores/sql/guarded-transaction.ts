import { LATE, transactionMisuse } from "../transaction-errors.js";

/**
 * The ORM's transaction for a handler, and `close`, after which every use of it throws: a late write would reach the
 * next delivery, or be committed by itself. What the handler took out of it before, such as a query that it had not
 * begun, is left to the ORM.
 */
export function guardTransaction<Tx>(transaction: Tx): {
  readonly tx: Tx;
  readonly close: () => void;
} {
  let isClosed = false;
  const bound = new Map<unknown, unknown>();
  const check = (): void => {
    if (isClosed) throw transactionMisuse(LATE);
  };
  const isGuarded =
    (typeof transaction === "object" && transaction !== null) || typeof transaction === "function";
  if (!isGuarded) return { tx: transaction, close: () => undefined };

  const target = transaction as object;
  const tx = new Proxy(target, {
    get(_, property) {
      check();
      // With the transaction itself as `this`: classes with private members work on nothing else.
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== "function" || property === "constructor" || isFixed(target, property)) {
        return value;
      }
      if (!bound.has(value)) bound.set(value, boundTo(value, target, check));
      return bound.get(value);
    },
    set(_, property, value) {
      check();
      return Reflect.set(target, property, value, target);
    },
    apply(_, self, args) {
      check();
      return Reflect.apply(target as () => unknown, self, args) as unknown;
    },
  }) as Tx;
  return {
    tx,
    close() {
      isClosed = true;
    },
  };
}

/** A proxy must give back the value of a property that cannot change. */
function isFixed(target: object, property: PropertyKey): boolean {
  const own = Reflect.getOwnPropertyDescriptor(target, property);
  return own?.configurable === false && own.writable === false;
}

/** The function with the transaction as `this`, and with its own members: `tx.fn.now()`. */
function boundTo(value: object, target: object, check: () => void): object {
  return new Proxy(value, {
    apply(method, _, args) {
      check();
      return Reflect.apply(method as () => unknown, target, args) as unknown;
    },
  });
}
