import { startBackgroundTimer, DeadlineError } from "../common/timers.js";

/** When the gateway is answered, and when the handler is given up. Milliseconds since its call. */
export interface HandlerTimes {
  readonly handlerTimeoutMs: number;
  readonly handlerMaxMs: number;
}

/**
 * Starts the two clocks of a handler: `onTimeout` is called after `handlerTimeoutMs`, and `onGivenUp`
 * after `handlerMaxMs`. The returned function stops both.
 */
export function startHandlerTimeout(
  { handlerTimeoutMs, handlerMaxMs }: HandlerTimes,
  onTimeout: (error: DeadlineError) => void,
  onGivenUp: (error: DeadlineError) => void,
): () => void {
  let stopSecond: (() => void) | undefined;
  // One timer for most handlers. The second keeps no process alive: without it the process may end.
  const first = setTimeout(() => {
    stopSecond = startBackgroundTimer(handlerMaxMs - handlerTimeoutMs, () => {
      onGivenUp(new DeadlineError("the handler", handlerMaxMs));
    });
    onTimeout(new DeadlineError("the handler", handlerTimeoutMs));
  }, handlerTimeoutMs);
  return () => {
    clearTimeout(first);
    stopSecond?.();
  };
}
