import type { Claims } from "./claims.js";
import { LazySignal, type DeliveryContext } from "./delivery-context.js";
import type { StartHandlerTimeout } from "./handler-timeout.js";
import type { MaybeLater } from "./maybe-promise.js";
import type { Ending } from "./report.js";
import { runHandler, type HandlerResult, type Run } from "./run-handler.js";

/** A claimed delivery and what to run for it. */
export interface Job {
  /** These beside the context, which is in the handler's hands. */
  readonly id: string;
  readonly type: string;
  readonly owner: string;
  readonly run: Run;
  readonly signal: LazySignal;
  readonly context: DeliveryContext;
}

/** Runs a job and settles its claim. Neither throws nor rejects. */
export type Perform = (job: Job) => MaybeLater<Ending>;

/** The signal's reason when somebody else may be handling the same delivery. */
class LeaseLostError extends Error {
  override readonly name = "LeaseLostError";

  constructor() {
    super("the lease on this delivery is lost: another process may be handling it");
  }
}

function isDone({ outcome }: HandlerResult): boolean {
  return outcome === "handled" || outcome === "discarded";
}

function answerAfter(settled: Promise<void>, result: HandlerResult): Promise<Ending> {
  return settled.then(() => result);
}

/** Makes the step between claim and answer: handler, lease renewal, time-out, settling. */
export function createPerform(claims: Claims, startTimeout: StartHandlerTimeout): Perform {
  /** Success is remembered before the gateway hears of it; a failure makes room for the next copy. */
  const settle = ({ id, owner }: Job, result: HandlerResult): MaybeLater<Ending> => {
    const settled = isDone(result) ? claims.complete(id, owner) : claims.release(id, owner);
    return settled === undefined ? result : answerAfter(settled, result);
  };

  /** The lease is renewed until the success is remembered, but not beyond its release. */
  const settleRenewed = (
    job: Job,
    result: HandlerResult,
    stopRenewing: () => void,
  ): MaybeLater<Ending> => {
    if (!isDone(result)) stopRenewing();
    const settled = settle(job, result);
    if ("then" in settled) {
      return settled.then((ending) => {
        stopRenewing();
        return ending;
      });
    }
    stopRenewing();
    return settled;
  };

  const performLater = (job: Job, result: Promise<HandlerResult>): Promise<Ending> =>
    new Promise((answer, fail) => {
      const { id, owner, signal } = job;
      let isRunning = true;
      const stopRenewing = claims.keep(id, owner, () => {
        // A renewal that comes after the completion is refused too, and no handler is to hear of it.
        if (isRunning) LazySignal.abort(signal, new LeaseLostError());
      });
      const timer = startTimeout(job, () => settled, answer);
      const settled = result.then((value) => {
        isRunning = false;
        clearTimeout(timer);
        return settleRenewed(job, value, stopRenewing);
      });
      // Nobody hears of it any more where the time has passed.
      settled.then(answer, fail);
    });

  return (job) => {
    const result = runHandler(job.run, job.context);
    return "then" in result ? performLater(job, result) : settle(job, result);
  };
}
