import { MAX_TIMER_MS } from "../../common/timers.js";
import { numberOption } from "./number-option.js";
import type { TwinClock } from "./twin-clock.js";

/**
 * Real time in which only the waiting is shortened: at `speed` 3 600 an hour of the retry schedule
 * takes a second. `now` stays the real time, since an endpoint judges timestamps by its own clock, and
 * so does the time-out of a request.
 *
 * @param speed From 1 to 1 000 000, default 1: as slow as the gateway.
 * @throws ConfigurationError for a speed out of bounds.
 */
export function createScaledClock(speed?: number): TwinClock {
  const factor = numberOption("speed", speed, { fallback: 1, min: 1, max: 1_000_000 });
  const startTimer: TwinClock["startTimer"] = (ms, run) => {
    // Beyond the bound the timer would fire at once.
    const timer = setTimeout(run, Math.min(ms / factor, MAX_TIMER_MS));
    return () => {
      clearTimeout(timer);
    };
  };
  return {
    now: () => Date.now(),
    startTimer,
    sleep: (ms) =>
      new Promise((resolve) => {
        startTimer(ms, resolve);
      }),
  };
}
