import { DeadlineError } from "../common/timers.js";
import { LazySignal } from "./delivery-context.js";
import type { MaybeLater } from "../common/promises.js";
import type { Ending } from "../answer/report.js";
import type { HandlerResult } from "./run-handler.js";
import type {
  ProcessResult,
  TransactionalStore,
  WorkFacts,
} from "../stores/transactional-store.js";
import { UnexpectedResultError } from "../stores/unexpected-result.js";

/**
 * Runs `run`, which neither throws nor rejects, in a transaction that remembers `id`, and says how that
 * ended. Never rejects. `signal` aborts where the transaction ends before the run.
 */
export type Transact = (
  id: string,
  run: (tx: unknown, takeover: boolean) => MaybeLater<HandlerResult>,
  signal: LazySignal,
) => Promise<Ending>;

/** What may take how long, in milliseconds. */
interface TransactionTimes {
  readonly retentionMs: number;
  readonly handlerTimeoutMs: number;
  readonly dependencyTimeoutMs: number;
}

/** The signal's reason when nothing that the handler writes will be kept. */
export class TransactionLostError extends Error {
  override readonly name = "TransactionLostError";
  /** Stable, so that code can branch on it. */
  readonly code = "transaction_lost";

  constructor() {
    super("the transaction of this delivery is lost: it will be sent again");
  }
}

/**
 * Bounds how long `store.process` may take to begin its work, and to end after it. A store is
 * partners' code too: what it answers is read as strictly as a request.
 */
export function createTransact(
  store: TransactionalStore<unknown>,
  { retentionMs, handlerTimeoutMs, dependencyTimeoutMs }: TransactionTimes,
): Transact {
  return (id, run, signal) =>
    new Promise((settle) => {
      /** Of the last run: a store may call its work again, after a serialization failure. */
      let result: HandlerResult | undefined;
      let underWay: Promise<HandlerResult> | undefined;
      let isOver = false;
      let lastStart = Infinity;
      let timer: ReturnType<typeof setTimeout>;

      const bound = (): void => {
        if (isOver) return;
        timer = setTimeout(() => {
          isOver = true;
          // How the handler failed says more than that the rollback takes its time.
          const failure = failureOf(result);
          const hasFailed = failure !== undefined && failure.outcome !== "discarded";
          const late = new DeadlineError("store.process", dependencyTimeoutMs);
          settle(hasFailed ? failure : unavailable(late));
        }, dependencyTimeoutMs);
      };

      const runOnce = async (tx: unknown, facts?: Partial<WorkFacts> | null): Promise<void> => {
        result = undefined;
        const takeover = facts?.takeover === true;
        const now = performance.now();
        // The gateway has been answered, or will be soon: nothing is begun for it any more.
        if (isOver || underWay !== undefined || now > lastStart) {
          throw new UnexpectedResultError(
            "store.process called its work too late, or beside itself",
          );
        }
        lastStart = Math.min(lastStart, now + handlerTimeoutMs);
        clearTimeout(timer);
        underWay = Promise.resolve(run(tx, takeover));
        const ended = await underWay;
        underWay = undefined;
        result = ended;
        bound();
        // As it was thrown: the error of a query tells the store whether it may try again.
        if (ended.outcome !== "handled") throw ended.error;
      };

      const work = (tx: unknown, facts?: WorkFacts): Promise<void> => {
        const done = runOnce(tx, facts);
        // Of a store that does not wait for its work, a rejection would end the process.
        done.catch(() => undefined);
        return done;
      };

      const end = async (ending: Ending): Promise<void> => {
        isOver = true;
        clearTimeout(timer);
        if (underWay !== undefined) {
          LazySignal.abort(signal, new TransactionLostError());
          await underWay;
        }
        settle(ending);
      };

      bound();
      void (async () => store.process(id, work, { retentionMs }))().then(
        (said) => end(readResult(said, result, underWay !== undefined)),
        (error: unknown) => end(failureOf(result) ?? unavailable(error)),
      );
    });
}

function unavailable(error: unknown): Ending {
  return { outcome: "store_unavailable", error };
}

function failureOf(result: HandlerResult | undefined) {
  return result?.outcome === "handled" ? undefined : result;
}

/** What the store says, unless it cannot be so: after a run with that result, or while one goes on. */
function readResult(
  said: ProcessResult | undefined,
  result: HandlerResult | undefined,
  isUnderWay: boolean,
): Ending {
  try {
    const answer = isUnderWay ? undefined : said;
    if (answer?.state === "processed" && result?.outcome === "handled") return result;
    if (answer?.state === "completed") return { outcome: "duplicate" };
    if (answer?.state === "in_flight") {
      return { outcome: "in_flight", retryAfterMs: answer.retryAfterMs };
    }
    const cause = failureOf(result)?.error;
    return unavailable(
      new UnexpectedResultError("store.process returned what cannot be", { cause }),
    );
  } catch (error) {
    return unavailable(error);
  }
}
