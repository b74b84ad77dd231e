import type { Log } from "../answer/logger.js";
import { dueAfterMs, type Ending } from "../answer/trace.js";
import type { ValueOrPromise } from "../common/promises.js";
import type { DeadlineError } from "../common/timers.js";
import { decode } from "../records/decode.js";
import type { TransactionalStore } from "../stores/transactional-store.js";
import { StoreCalls, type Tally } from "../telemetry/tally.js";
import { holdOpen } from "../delivery/request.js";
import { createContext, LazySignal } from "./delivery-context.js";
import { limitsOf, startHandlerTimers } from "./handler-timers.js";
import type { Delivery, Handling, HandlingOptions } from "./handling.js";
import { LeaseRenewals } from "./lease-renewals.js";
import { ownerOfBoth } from "./once-per-record.js";
import { HANDLED, runDelivery, type HandlerResult } from "./run-handler.js";
import { runInTransaction, type TransactionWork } from "./transaction-run.js";

/**
 * Handling with a `TransactionalStore`: the handler runs in a transaction of the store, which remembers
 * the delivery too.
 */
export class TransactionalHandling implements Handling {
  readonly #store: TransactionalStore<unknown>;
  readonly #times: HandlingOptions;
  readonly #log: Log;
  readonly #calls: StoreCalls;
  /** What is being processed here. Redeliveries of it are refused without a call of the store. */
  readonly #inProgress: LeaseRenewals;
  /** The types whose handler has read `tx`. */
  readonly #usesTx = new Set<string>();
  #hasWarnedOfUnused = false;
  /** Undefined if the delivery id alone decides. */
  readonly #recordKeys: HandlingOptions["recordKeys"];

  constructor(store: TransactionalStore<unknown>, times: HandlingOptions, log: Log, tally: Tally) {
    this.#recordKeys = times.recordKeys;
    this.#store = store;
    this.#times = times;
    this.#log = log;
    this.#calls = new StoreCalls(tally);
    // A transaction has no lease to renew: the timers alone tell whether its runtime has frozen or ended the run.
    this.#inProgress = new LeaseRenewals({
      leaseMs: times.leaseMs,
      renew: () => Promise.resolve(true),
      onFailed: () => undefined,
    });
  }

  handle(delivery: Delivery): ValueOrPromise<Ending> {
    if (this.isRunning(delivery.headers.id)) return { outcome: "in_flight" };
    if (this.#recordKeys === undefined) return this.#answer(delivery, undefined);
    return this.#recordKeys.keyOf(delivery).then((recordKey) => {
      // Looked at again: the digest of the key takes a moment.
      if (this.isRunning(delivery.headers.id)) return { outcome: "in_flight" };
      if (recordKey === undefined || !this.isRunning(recordKey)) {
        return this.#answer(delivery, recordKey);
      }
      return { outcome: "in_flight", sameRecord: true };
    });
  }

  #answer(delivery: Delivery, recordKey: string | undefined): Promise<Ending> {
    return new Promise((answer) => {
      const settled = this.#process(delivery, recordKey, (error) => {
        // A store may run the work again, so the first run may already have answered.
        if (delivery.trace.deadline === undefined) {
          answer({ outcome: "handler_timeout", error, late: settled });
        } else {
          // Only the rollback goes on.
          holdOpen(delivery.trace, settled);
          answer({ outcome: "handler_timeout", error });
        }
      });
      void settled.then(answer);
    });
  }

  isRunning(id: string): boolean {
    // Overdue means that the runtime has frozen or ended the first run. Then the store decides.
    return this.#inProgress.isAlive(id);
  }

  /** Nothing is left for the store: what a handler did is committed with its delivery, or not at all. */
  flush(): Promise<void> {
    return Promise.resolve();
  }

  completionsPending(): number {
    return 0;
  }

  isCompletionPending(): boolean {
    return false;
  }

  async #process(
    delivery: Delivery,
    recordKey: string | undefined,
    onTimeout: (error: DeadlineError) => void,
  ): Promise<Ending> {
    const { id } = delivery.headers;
    const owner = recordKey === undefined ? "" : ownerOfBoth("", recordKey);
    const run = this.#inProgress.add(id, owner, undefined, () => undefined);
    run.startTimer();
    const ending = await this.#processOnce(delivery, recordKey, onTimeout);
    void run.stop();
    return ending;
  }

  async #processOnce(
    delivery: Delivery,
    recordKey: string | undefined,
    onTimeout: (error: DeadlineError) => void,
  ): Promise<Ending> {
    const { id } = delivery.headers;
    const signal = new LazySignal();
    let runs = 0;
    const ending = await this.#transact({
      id,
      recordKey,
      run: (tx, takeover) => {
        runs += 1;
        const current = runs === 1 ? delivery : decodedAgain(delivery);
        return this.#runHandler(current, tx, takeover, signal, onTimeout);
      },
      signal,
      handlerUntil: delivery.trace.deadline?.handlerUntil,
    });
    return ending.outcome === "discarded" ? this.#remember({ id, recordKey }, ending) : ending;
  }

  async #transact(work: TransactionWork): Promise<Ending> {
    const ending = await runInTransaction(this.#store, this.#times, work);
    if (ending.outcome === "store_unavailable") this.#calls.failed("process");
    return ending;
  }

  /** A discarded delivery was rolled back with the handler's writes, so it gets its own transaction. */
  async #remember(
    keys: Pick<TransactionWork, "id" | "recordKey">,
    discarded: Ending,
  ): Promise<Ending> {
    const ending = await this.#transact({ ...keys, run: () => HANDLED, signal: new LazySignal() });
    const isRemembered = ending.outcome === "handled" || ending.outcome === "duplicate";
    return isRemembered ? discarded : ending;
  }

  /** Warns once of a type whose handler finished and has never read `tx`. */
  #warnOfUnused({ id, type }: Delivery["headers"]): void {
    if (this.#hasWarnedOfUnused || this.#usesTx.has(type)) return;
    this.#hasWarnedOfUnused = true;
    const line = `the handler of ${type} finished without context.tx: what it wrote is not in the transaction that remembers the delivery, so after a rollback it is written again. Write through context.tx; if this handler writes nothing there, or your ORM passes the transaction on by itself, all is well.`;
    this.#log.warn(line, { id, type });
  }

  /** Runs the handler in `tx`. Resolves when it settles, or is given up after `handlerMaxMs`. */
  #runHandler(
    delivery: Delivery,
    tx: unknown,
    takeover: boolean,
    signal: LazySignal,
    onTimeout: (error: DeadlineError) => void,
  ): Promise<HandlerResult> {
    const { headers, rawBody, trace } = delivery;
    const { id, type } = headers;
    return new Promise((resolve, reject) => {
      if (takeover) trace.takeover = true;
      const { deadline } = trace;
      const limits = deadline === undefined ? this.#times : limitsOf(this.#times, deadline);
      const dueMs = dueAfterMs(trace, limits.handlerTimeoutMs, performance.now());
      const stopTimers = startHandlerTimers(limits, dueMs, 0, {
        onDue: (error) => {
          if (deadline === undefined) onTimeout(error);
        },
        onTimeout: (error) => LazySignal.abort(signal, error),
        onGivenUp: (error) => {
          onTimeout(error);
          // The store rolls back, which frees its connection. The handler itself cannot be stopped.
          resolve({ outcome: "handler_failed", error });
          void result.then((late) => {
            const line = `${late.outcome}, but after it was given up: its transaction was rolled back`;
            const details = { id, type, error: "error" in late ? late.error : undefined };
            this.#log.warn(line, details);
          });
        },
      });
      const context = createContext(headers, rawBody, takeover, signal);
      const get = () => {
        this.#usesTx.add(type);
        return tx;
      };
      Object.defineProperty(context, "tx", { enumerable: true, configurable: true, get });
      const result = Promise.resolve(runDelivery(delivery, context));
      void result.then(({ outcome }) => outcome === "handled" && this.#warnOfUnused(headers));
      void result.finally(stopTimers).then(resolve, reject);
    });
  }
}

/** The delivery with its record as it was sent: a run that was rolled back may have changed the record. */
function decodedAgain(delivery: Delivery): Delivery {
  const { headers, rawBody, call } = delivery;
  const decoded = decode(rawBody, headers.type);
  if (!("record" in decoded)) return delivery;
  return { ...delivery, call: { handler: call.handler, record: decoded.record } };
}
