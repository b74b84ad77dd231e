import type { HandlingTimes } from "./handling.js";
import { unexpectedResult, GatewayWebhookError } from "../common/errors.js";
import type { Ending } from "../answer/trace.js";
import type { ValueOrPromise } from "../common/promises.js";
import { DeadlineError } from "../common/timers.js";
import type {
  ProcessResult,
  TransactionalStore,
  WorkFacts,
} from "../stores/transactional-store.js";
import { LazySignal } from "./delivery-context.js";
import type { HandlerResult } from "./run-handler.js";

/** The work of one transaction. */
export interface TransactionWork {
  /** The delivery id, which the transaction remembers. */
  readonly id: string;
  /** The key of its record, which the same transaction remembers. */
  readonly recordKey: string | undefined;
  /** Neither throws nor rejects. A store may call it again, after a serialization failure. */
  readonly run: (tx: unknown, takeover: boolean) => ValueOrPromise<HandlerResult>;
  /** Aborted if the transaction ends while `run` is at work. */
  readonly signal: LazySignal;
  /** When it is too late to begin, by `performance.now()`: the platform has frozen the process meanwhile. */
  readonly handlerUntil?: number | undefined;
}

/**
 * Runs `work` in a transaction of the store and resolves to how that ended. Bounds how long
 * `store.process` may take to begin the work, and to end after it. Never rejects.
 */
export function runInTransaction(
  store: TransactionalStore<unknown>,
  times: HandlingTimes,
  work: TransactionWork,
): Promise<Ending> {
  return new Promise((settle) => new TransactionRun(times, work, settle).start(store));
}

/** One call of `store.process`. */
class TransactionRun {
  readonly #times: HandlingTimes;
  readonly #work: TransactionWork;
  readonly #settle: (ending: Ending) => void;
  /** The result of the last run. */
  #result: HandlerResult | undefined;
  /** The run that is at work. */
  #running: Promise<HandlerResult> | undefined;
  #isOver = false;
  /** No run may begin later than this, by `performance.now()`. */
  #lastStart: number;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(times: HandlingTimes, work: TransactionWork, settle: (ending: Ending) => void) {
    this.#times = times;
    this.#work = work;
    this.#lastStart = work.handlerUntil ?? Infinity;
    this.#settle = settle;
  }

  start(store: TransactionalStore<unknown>): void {
    this.#startTimer();
    const { retentionMs } = this.#times;
    const { id, recordKey } = this.#work;
    const work = (tx: unknown, facts?: WorkFacts): Promise<void> => {
      const done = this.#run(tx, facts);
      // If the store does not wait for its work, a rejection would end the process.
      done.catch(() => undefined);
      return done;
    };
    void (async () => store.process(id, work, { retentionMs, recordKey }))().then(
      (said) => this.#end(readResult(said, this.#result, this.#running !== undefined)),
      (error: unknown) => this.#end(failureOf(this.#result) ?? unavailable(error)),
    );
  }

  /** Bounds the store's time while no run is at work. */
  #startTimer(): void {
    if (this.#isOver) return;
    const { dependencyTimeoutMs } = this.#times;
    this.#timer = setTimeout(() => {
      this.#isOver = true;
      // The failure of the handler says more than a slow rollback after it.
      const failure = failureOf(this.#result);
      const hasFailed = failure !== undefined && failure.outcome !== "discarded";
      const late = new DeadlineError("store.process", dependencyTimeoutMs);
      this.#settle(hasFailed ? failure : unavailable(late));
    }, dependencyTimeoutMs);
  }

  async #run(tx: unknown, facts?: Partial<WorkFacts> | null): Promise<void> {
    this.#result = undefined;
    const takeover = facts?.takeover === true;
    const now = performance.now();
    // The gateway has been answered, or will be soon: a run that begins now comes too late for that
    // answer.
    if (this.#isOver || this.#running !== undefined || now > this.#lastStart) {
      throw unexpectedResult("store.process called its work too late, or a second time at once");
    }
    this.#lastStart = Math.min(this.#lastStart, now + this.#times.handlerTimeoutMs);
    clearTimeout(this.#timer);
    this.#running = Promise.resolve(this.#work.run(tx, takeover));
    const result = await this.#running;
    this.#running = undefined;
    this.#result = result;
    this.#startTimer();
    // Thrown unchanged: the error of a query tells the store whether it may try again.
    if (result.outcome !== "handled") throw result.error;
  }

  async #end(ending: Ending): Promise<void> {
    this.#isOver = true;
    clearTimeout(this.#timer);
    if (this.#running !== undefined) {
      const message = "the transaction of this delivery is lost: it will be sent again";
      LazySignal.abort(this.#work.signal, new GatewayWebhookError("transaction_lost", message));
      await this.#running;
    }
    this.#settle(ending);
  }
}

function unavailable(error: unknown): Ending {
  return { outcome: "store_unavailable", error };
}

function failureOf(result: HandlerResult | undefined) {
  return result?.outcome === "handled" ? undefined : result;
}

/**
 * Reads a store's answer. Users write stores too: an answer that cannot be true after this run, or while
 * one is at work, counts as unavailable.
 */
function readResult(
  said: ProcessResult | undefined,
  result: HandlerResult | undefined,
  isRunning: boolean,
): Ending {
  try {
    const answer = isRunning ? undefined : said;
    if (answer?.state === "processed" && result?.outcome === "handled") return result;
    if (answer?.state === "completed") {
      return { outcome: "duplicate", sameRecord: answer.sameRecord };
    }
    if (answer?.state === "in_flight") {
      const { retryAfterMs, sameRecord } = answer;
      return { outcome: "in_flight", retryAfterMs, sameRecord };
    }
    const cause = failureOf(result)?.error;
    return unavailable(
      unexpectedResult("store.process returned an impossible result", {
        cause,
      }),
    );
  } catch (error) {
    return unavailable(error);
  }
}
