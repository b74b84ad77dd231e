import { vi } from "vitest";

/** Counts the timers of one length: all started, those not cleared, and those that fired, until the test ends. */
export function watchTimers(delayMs: number): {
  started: () => number;
  running: () => number;
  fired: () => number;
} {
  let [started, fired] = [0, 0];
  const running = new Set<unknown>();
  const { setTimeout: start, clearTimeout: stop } = globalThis;
  vi.spyOn(globalThis, "setTimeout").mockImplementation((callback: () => void, ms?: number) => {
    if (ms !== delayMs) return start(callback, ms);
    started += 1;
    const timer = start(() => {
      fired += 1;
      callback();
    }, ms);
    running.add(timer);
    return timer;
  });
  vi.spyOn(globalThis, "clearTimeout").mockImplementation((timer) => {
    running.delete(timer);
    stop(timer);
  });
  return {
    started: () => started,
    running: () => running.size,
    fired: () => fired,
  };
}
