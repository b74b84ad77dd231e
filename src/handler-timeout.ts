import { DeadlineError } from "./deadline.js";
import { LazySignal } from "./delivery-context.js";
import { ruleOf } from "./outcome.js";
import type { Ending, Reporter } from "./report.js";
import type { Running } from "./running.js";

/** A delivery whose handler is called now. */
interface TimedJob {
  readonly id: string;
  readonly type: string;
  readonly signal: LazySignal;
}

/**
 * Starts the time of a handler; whoever sees it end clears the timer. Once it has passed the gateway is
 * answered, the handler's signal aborts, and what became of the delivery is written when it has settled.
 */
export type StartHandlerTimeout = (
  job: TimedJob,
  settled: () => Promise<Ending>,
  answer: (ending: Ending) => void,
) => ReturnType<typeof setTimeout>;

/** Makes the time-out of handlers. */
export function createHandlerTimeout(
  running: Running,
  handlerTimeoutMs: number,
  log: Reporter["log"],
): StartHandlerTimeout {
  const logLate = async ({ id, type }: TimedJob, settling: Promise<Ending>): Promise<void> => {
    const { outcome, error } = await settling;
    const level = ruleOf(outcome).log ?? "warn";
    log(level, `${outcome}, but after handlerTimeoutMs`, { id, type, error });
  };

  return (job, settled, answer) =>
    setTimeout(() => {
      const error = new DeadlineError("the handler", handlerTimeoutMs);
      LazySignal.abort(job.signal, error);
      running.track(logLate(job, settled()));
      answer({ outcome: "handler_timeout", error });
    }, handlerTimeoutMs);
}
