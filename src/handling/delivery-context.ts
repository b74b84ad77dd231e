/**
 * What a handler is told about its delivery. With a `TransactionalStore<Tx>` also the transaction, and
 * only then: `tx`.
 */
export type DeliveryContext<Tx = never> = [Tx] extends [never]
  ? DeliveryFacts
  : TransactionContext<Tx>;

/** What a handler is told whatever the store. */
interface DeliveryFacts {
  /** X-Webhook-Id: the same for every attempt and copy of this delivery. */
  readonly id: string;
  /** The webhook type, which header and signed body agree on; for `unrecognized`, the header's claim. */
  readonly type: string;
  /** X-Webhook-Timestamp. */
  readonly timestamp: Date;
  /** The exact bytes that were signed. */
  readonly rawBody: Uint8Array;
  /**
   * Aborts when `handlerTimeoutMs` has passed, or the lease or the transaction is lost. The handler
   * may go on: a late success still completes the delivery, unless its transaction is lost.
   */
  readonly signal: AbortSignal;
  /** True where an earlier run of this delivery ended without a verdict, so its effect may be there. */
  readonly takeover: boolean;
}

/** The same in a transaction. */
interface TransactionContext<Tx> extends DeliveryFacts {
  /**
   * The transaction that remembers this delivery: what is written through it is committed with that
   * when the handler succeeds, and rolled back when it fails. Not to be ended by the handler, nor used
   * after it.
   */
  readonly tx: Tx;
}

/** The signal of a context, made when it is first asked for. Private fields, as handlers can get at it. */
export class LazySignal {
  #controller: AbortController | undefined;
  #reason: Error | undefined;

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Aborts the signal, now or when it is first asked for. Never throws. */
  static abort(lazy: LazySignal, reason: Error): void {
    lazy.#reason ??= reason;
    try {
      lazy.#controller?.abort(reason);
    } catch {
      // A handler has frozen its signal. Thrown out of a timer, this would end the process.
    }
  }
}

const LAZY = Symbol("signal");

/** What tells Node, and its release, from other runtimes. */
const { process: host } = globalThis as { process?: { versions?: { node?: string } } };

/**
 * Most handlers never ask for their signal. On Node 20 it takes 1.6 µs to make one, from Node 22 on
 * 0.1, which is less than a getter that waits for the question: 3 % of a delivery.
 */
const IS_SIGNAL_CHEAP = Number.parseInt(host?.versions?.node ?? "0", 10) >= 22;

// One descriptor for all contexts: a getter in an object literal is a new function each time, and takes
// 0.2 µs. Found through `this`, so that what inherits from a context or wraps it has the same signal.
const SIGNAL: PropertyDescriptor & ThisType<{ readonly [LAZY]: LazySignal }> = {
  enumerable: true,
  configurable: true,
  get() {
    return this[LAZY].signal;
  },
};

/** Makes a context. */
export function createContext(
  id: string,
  type: string,
  timestamp: Date,
  rawBody: Uint8Array,
  takeover: boolean,
  lazy: LazySignal,
): DeliveryContext {
  if (IS_SIGNAL_CHEAP) return { id, type, timestamp, rawBody, takeover, signal: lazy.signal };
  const context = { id, type, timestamp, rawBody, takeover, [LAZY]: lazy };
  return Object.defineProperty(context, "signal", SIGNAL) as unknown as DeliveryContext;
}
