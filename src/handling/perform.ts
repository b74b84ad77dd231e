import type { Claims, Unfinished } from "./claims.js";
import { LazySignal, type DeliveryContext } from "./delivery-context.js";
import { startHandlerTimeout, type HandlerTimes } from "./handler-timeout.js";
import type { MaybeLater } from "../common/promises.js";
import type { Ending, Reporter } from "../answer/report.js";
import { runHandler, type HandlerResult, type Run } from "./run-handler.js";

/** A claimed delivery and what to run for it. */
export interface Job {
  /** These beside the context, which is in the handler's hands. */
  readonly id: string;
  readonly type: string;
  readonly owner: string;
  /** When its lease began at the latest, by `performance.now()`; undefined: now. */
  readonly leasedAt: number | undefined;
  readonly run: Run;
  readonly signal: LazySignal;
  readonly context: DeliveryContext;
}

/** Runs a job and settles its claim. Neither throws nor rejects. */
export type Perform = (job: Job) => MaybeLater<Ending>;

/** The signal's reason when somebody else may be handling the same delivery. */
export class LeaseLostError extends Error {
  override readonly name = "LeaseLostError";
  /** Stable, so that code can branch on it. */
  readonly code = "lease_lost";

  constructor() {
    super("the lease on this delivery is lost: another process may be handling it");
  }
}

function isDone({ outcome }: HandlerResult): boolean {
  return outcome === "handled" || outcome === "discarded";
}

/** The result as the answer, with what the store has not taken yet. */
function endingOf(result: HandlerResult, unfinished: Unfinished | undefined): Ending {
  return unfinished === undefined ? result : { ...result, unfinished: unfinished.work };
}

function endingAfter(
  settled: Promise<Unfinished | undefined>,
  result: HandlerResult,
): Promise<Ending> {
  return settled.then((unfinished) => endingOf(result, unfinished));
}

/** Makes the step between claim and answer: handler, lease renewal, time-out, settling. */
export function createPerform(claims: Claims, times: HandlerTimes, log: Reporter["log"]): Perform {
  /** Success is remembered before the gateway is answered; a failure makes room for the next attempt. */
  const settle = ({ id, owner }: Job, result: HandlerResult): MaybeLater<Ending> => {
    if (!isDone(result)) {
      const released = claims.release(id, owner);
      return released === undefined ? result : released.then(() => result);
    }
    const completed = claims.complete(id, owner);
    if (completed === undefined) return result;
    return "then" in completed ? endingAfter(completed, result) : endingOf(result, completed);
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
      const { id, type, owner, leasedAt, signal } = job;
      let isRunning = true;
      const stopRenewing = claims.keep(id, owner, leasedAt, () => {
        // A renewal that comes after the completion is refused too. The handler is done by then.
        if (isRunning) LazySignal.abort(signal, new LeaseLostError());
      });
      let endLate: ((ending: Ending) => void) | undefined;
      const stopTimeout = startHandlerTimeout(
        times,
        (error) => {
          LazySignal.abort(signal, error);
          const late = new Promise<Ending>((resolve) => (endLate = resolve));
          answer({ outcome: "handler_timeout", error, late });
        },
        (error) => {
          // Not released: the handler may still be at work, so the next attempt waits for the lease's end.
          stopRenewing();
          endLate?.({ outcome: "handler_failed", error });
          endLate = ({ outcome, error: late }) => {
            const details = { id, type, error: late };
            log("warn", `${outcome}, but after handlerMaxMs: it may have run twice`, details);
          };
        },
      );
      const settled = result.then((value) => {
        isRunning = false;
        stopTimeout();
        return settleRenewed(job, value, stopRenewing);
      });
      settled.then(
        (ending) => {
          if (endLate === undefined) answer(ending);
          else endLate(ending);
        },
        (error: unknown) => {
          fail(error);
          endLate?.({ outcome: "internal_error", error });
        },
      );
    });

  return (job) => {
    const result = runHandler(job.run, job.context);
    if ("then" in result) return performLater(job, result);
    const settled = settle(job, result);
    if (!("then" in settled) || !isDone(result)) return settled;
    // The store takes its time to remember the success, and no other process may take over meanwhile.
    const stopRenewing = claims.keep(job.id, job.owner, job.leasedAt, () => undefined);
    return settled.then((ending) => {
      stopRenewing();
      return ending;
    });
  };
}
