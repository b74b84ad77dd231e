import { withOthers } from "../delivery/header-values.js";
import type { DeliveryHeaders } from "../delivery/headers.js";

/**
 * What a handler gets beside the record. With a `TransactionalStore<Tx>`, and only then, it also has the
 * transaction as `tx`.
 */
export type DeliveryContext<Tx = never> = [Tx] extends [never]
  ? ContextWithoutTransactionalStore
  : TransactionContext<Tx>;

/** Of its own, for its name: the compiler says it of a handler that wants `tx`. */
// oxlint-disable-next-line typescript/no-empty-object-type -- an alias would have no name in the message
interface ContextWithoutTransactionalStore extends DeliveryFacts {}

/** The members that every context has. */
export interface DeliveryFacts {
  /** X-Webhook-Id: the same for every attempt and every duplicate of this delivery. */
  readonly id: string;
  /**
   * The webhook type, on which header and signed body agree. For `unrecognized` only the header says it.
   */
  readonly type: string;
  /** X-Webhook-Timestamp. */
  readonly timestamp: Date;
  /** The exact bytes that were signed. */
  readonly rawBody: Uint8Array;
  /**
   * Aborts when `handlerTimeoutMs` has passed, when the lease or the transaction is lost, or shortly before
   * the time-out of a Lambda function. The handler may go on: a late success still completes the delivery,
   * unless its transaction is lost.
   */
  readonly signal: AbortSignal;
  /** True if an earlier run of this delivery ended without a result, so its effect may exist already. */
  readonly takeover: boolean;
  /**
   * True if `recoverDelivery` was called for it, and the gateway did not send it. `timestamp` is then the time of that
   * call, and `rawBody` the body as the history has it.
   */
  readonly recovered?: true;
}

/** The context of a handler that runs in a transaction. */
interface TransactionContext<Tx> extends DeliveryFacts {
  /**
   * The transaction that remembers this delivery. What the handler writes through it is committed with
   * the delivery when the handler succeeds, and rolled back when it fails. The handler must neither end
   * it nor use it afterwards.
   */
  readonly tx: Tx;
}

/**
 * The signal of a context, made when it is first read. Fields are private because handlers can reach it.
 */
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

  /** Aborts the signal, now or when it is first read. Never throws. */
  static abort(lazy: LazySignal, reason: Error): void {
    lazy.#reason ??= reason;
    try {
      lazy.#controller?.abort(reason);
    } catch {
      // The handler has frozen its signal. Thrown out of a timer, this error would end the process.
    }
  }
}

const LAZY = Symbol("signal");

const { process: host } = globalThis as { process?: { versions?: { node?: string } } };

/**
 * Most handlers never read their signal. Making one takes 1.6 µs on Node 20, so there a getter makes it at
 * the first read. From Node 22 on it takes 0.1 µs, less than the getter: with the getter a delivery is 3
 * to 12 % slower on Node 24.
 */
const IS_SIGNAL_CHEAP = Number.parseInt(host?.versions?.node ?? "0", 10) >= 22;

// One descriptor for all contexts: a getter in an object literal is a new function each time, which takes
// 0.2 µs. It reads `this`, so that an object that inherits from a context has the same signal.
const SIGNAL: PropertyDescriptor & ThisType<{ readonly [LAZY]: LazySignal }> = {
  enumerable: true,
  configurable: true,
  get() {
    return this[LAZY].signal;
  },
};

/** Makes a context. */
export function createContext(
  headers: DeliveryHeaders,
  rawBody: Uint8Array,
  takeover: boolean,
  lazy: LazySignal,
): DeliveryContext {
  const { id, type, timestampMs } = headers;
  const timestamp = new Date(timestampMs);
  if (IS_SIGNAL_CHEAP) {
    return withOthers({ id, type, timestamp, rawBody, takeover, signal: lazy.signal }, headers);
  }
  const context = withOthers({ id, type, timestamp, rawBody, takeover, [LAZY]: lazy }, headers);
  return Object.defineProperty(context, "signal", SIGNAL) as unknown as DeliveryContext;
}
