import { DeadlineError, startBackgroundTimer } from "../common/timers.js";
import type { HostDeadline } from "../delivery/request.js";

/** The time limits of a handler, in milliseconds from its call. */
export interface HandlerTimes {
  readonly handlerTimeoutMs: number;
  readonly handlerMaxMs: number;
}

/** The limits of a handler that is called now: the deadline may be nearer. */
export function limitsOf(times: HandlerTimes, deadline: HostDeadline): HandlerTimes {
  return {
    handlerTimeoutMs: deadline.handlerMs(times.handlerTimeoutMs),
    handlerMaxMs: deadline.handlerMs(times.handlerMaxMs),
  };
}

/**
 * Starts the two timers of a handler that was called `elapsedMs` ago: `onTimeout` is called after
 * `handlerTimeoutMs`, when the gateway must be answered unless there is a deadline, and `onGivenUp` after
 * `handlerMaxMs`. The returned function stops both.
 */
export function startHandlerTimers(
  { handlerTimeoutMs, handlerMaxMs }: HandlerTimes,
  elapsedMs: number,
  onTimeout: (error: DeadlineError) => void,
  onGivenUp: (error: DeadlineError) => void,
): () => void {
  let first: ReturnType<typeof setTimeout> | undefined;
  let stopSecond: (() => void) | undefined;
  const giveUp = (): void => onGivenUp(new DeadlineError("the handler", handlerMaxMs));
  const timeOut = (): void => {
    onTimeout(new DeadlineError("the handler", handlerTimeoutMs));
    const leftMs = handlerMaxMs - handlerTimeoutMs;
    // The second timer does not keep the process alive.
    if (leftMs > 0) stopSecond = startBackgroundTimer(leftMs, giveUp);
    // At once: a handler that fails because its signal aborts is given up, too.
    else giveUp();
  };
  const leftMs = handlerTimeoutMs - elapsedMs;
  // Rounded up, because a timer drops the fraction and would be early.
  if (leftMs > 0) first = setTimeout(timeOut, Math.ceil(leftMs));
  else timeOut();
  return () => {
    clearTimeout(first);
    stopSecond?.();
  };
}
