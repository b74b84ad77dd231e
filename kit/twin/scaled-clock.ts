import { MAX_TIMER_MS } from "../../src/common/timers.js";
import { numberOption } from "../option-checks.js";
import type { TwinClock } from "./twin-clock.js";

/**
 * A clock that shortens only the gaps between attempts: at `speed` 3 600 an hour of the retry schedule
 * takes a second. `now` and the time-out of a request stay in real time, since an endpoint compares
 * timestamps with its own clock.
 *
 * @example
 * const twin = createGatewayTwin({ target: url, secret, clock: createScaledClock(3600) });
 *
 * @param speed From 1 to 1 000 000, default 1: as slow as the gateway.
 * @throws ConfigurationError for a speed out of bounds.
 * @experimental
 */
export function createScaledClock(speed?: number): TwinClock {
  const factor = numberOption("speed", speed, { fallback: 1, min: 1, max: 1_000_000 });
  const startTimer: TwinClock["startTimer"] = (ms, run) => {
    // setTimeout with a longer delay would fire at once.
    const timer = setTimeout(run, Math.min(ms / factor, MAX_TIMER_MS));
    return () => clearTimeout(timer);
  };
  return {
    now: () => Date.now(),
    startTimer,
    sleep: (ms) => new Promise((resolve) => startTimer(ms, resolve)),
  };
}
