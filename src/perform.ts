import type { Claims } from "./claims.js";
import { within } from "./deadline.js";
import { createContext, type DeliveryContext } from "./delivery-context.js";
import { isPromise, type MaybePromise } from "./maybe-promise.js";
import type { Ending, Reporter } from "./report.js";
import { runHandler, type HandlerResult } from "./run-handler.js";
import type { Running } from "./running.js";

/** A claimed delivery and what to run for it. */
export interface Job {
  readonly run: (context: DeliveryContext) => unknown;
  readonly owner: string;
  readonly facts: Omit<DeliveryContext, "signal">;
}

/** Runs a job and settles its claim. Neither throws nor rejects. */
export type Perform = (job: Job) => MaybePromise<Ending>;

/** The signal's reason when somebody else may be handling the same delivery. */
class LeaseLostError extends Error {
  override readonly name = "LeaseLostError";

  constructor() {
    super("the lease on this delivery is lost: another process may be handling it");
  }
}

/** Makes the step between claim and answer: handler, lease renewal, time-out, settling. */
export function createPerform(
  claims: Claims,
  running: Running,
  handlerTimeoutMs: number,
  log: Reporter["log"],
): Perform {
  /** Success is remembered before the gateway hears of it; a failure makes room for the next copy. */
  const settle = ({ facts: { id }, owner }: Job, result: HandlerResult): MaybePromise<Ending> => {
    const isDone = result.outcome === "handled" || result.outcome === "discarded";
    const settled = isDone ? claims.complete(id, owner) : claims.release(id, owner);
    return isPromise(settled) ? settled.then(() => result) : result;
  };

  const settleLate = async (job: Job, result: PromiseLike<HandlerResult>): Promise<void> => {
    const { id, type } = job.facts;
    const ending = await settle(job, await result);
    const level = ending.outcome === "handled" ? "warn" : "error";
    log(level, `${ending.outcome}, but after handlerTimeoutMs`, { id, type, error: ending.error });
  };

  return (job) => {
    const { context, abort } = createContext(job.facts);
    const result = runHandler(job.run, context);
    if (!isPromise(result)) return settle(job, result);

    const stopRenewing = claims.keep(job.facts.id, job.owner, () => {
      abort(new LeaseLostError());
    });
    const finished = result.then((value) => {
      stopRenewing();
      return value;
    });
    return within(handlerTimeoutMs, "the handler", finished).then(
      (value) => settle(job, value),
      (timeout: unknown) => {
        abort(timeout as Error);
        running.track(settleLate(job, finished));
        return { outcome: "handler_timeout", error: timeout };
      },
    );
  };
}
