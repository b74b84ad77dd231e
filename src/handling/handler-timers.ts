import type { HandlingTimes } from "./handling.js";
import { DeadlineError, startBackgroundTimer, startTimer } from "../common/timers.js";
import type { HostDeadline } from "../delivery/request.js";

/** The time limits of a handler, in milliseconds from its call. */
export type HandlerTimes = Pick<HandlingTimes, "handlerTimeoutMs" | "handlerMaxMs">;

/** The limits of a handler that is called now: the deadline may be nearer. */
export function limitsOf(times: HandlerTimes, deadline: HostDeadline): HandlerTimes {
  return {
    handlerTimeoutMs: deadline.handlerMs(times.handlerTimeoutMs),
    handlerMaxMs: deadline.handlerMs(times.handlerMaxMs),
  };
}

/** What happens to a handler that takes long. */
export interface HandlerEvents {
  /** The answer is due, unless there is a host's deadline. */
  readonly onDue: (error: DeadlineError) => void;
  /** `handlerTimeoutMs` has passed since the call. */
  readonly onTimeout: (error: DeadlineError) => void;
  /** `handlerMaxMs` has passed since the call. */
  readonly onGivenUp: (error: DeadlineError) => void;
}

type Step = readonly [afterMs: number, run: () => void];

/**
 * Starts the timers of a handler that was called `elapsedMs` ago, one after the other. The returned function
 * stops them.
 */
export function startHandlerTimers(
  { handlerTimeoutMs, handlerMaxMs }: HandlerTimes,
  dueMs: number,
  elapsedMs: number,
  { onDue, onTimeout, onGivenUp }: HandlerEvents,
): () => void {
  const late = new DeadlineError("the handler", handlerTimeoutMs);
  const fromArrival = new DeadlineError("the delivery, from its arrival on,", handlerTimeoutMs);
  let stop: () => void = () => undefined;
  const proceed = (passedMs: number, steps: readonly Step[], start: typeof startTimer): void => {
    const [step, ...rest] = steps;
    if (step === undefined) return;
    const [afterMs, run] = step;
    if (passedMs < afterMs) {
      // Rounded up, because a timer drops the fraction and would be early.
      const ms = Math.ceil(afterMs - passedMs);
      stop = start(ms, () => proceed(afterMs, steps, startBackgroundTimer));
      return;
    }
    run();
    // Once the gateway is answered, no timer keeps the process alive.
    proceed(passedMs, rest, startBackgroundTimer);
  };
  const all: readonly Step[] = [
    [dueMs, () => onDue(dueMs < handlerTimeoutMs ? fromArrival : late)],
    [handlerTimeoutMs, () => onTimeout(late)],
    [handlerMaxMs, () => onGivenUp(new DeadlineError("the handler", handlerMaxMs))],
  ];
  proceed(elapsedMs, all, startTimer);
  return () => stop();
}
