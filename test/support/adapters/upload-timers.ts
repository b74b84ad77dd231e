import { vi } from "vitest";

/** Counts the timers of one length: all started, those not cleared, and those that fired. `restore` stops the count. */
export function watchTimers(delayMs: number): {
  started: () => number;
  running: () => number;
  fired: () => number;
  restore: () => void;
} {
  let [started, fired] = [0, 0];
  const running = new Set<unknown>();
  const { setTimeout: start, clearTimeout: stop } = globalThis;
  const starting = vi
    .spyOn(globalThis, "setTimeout")
    .mockImplementation((callback: () => void, ms?: number) => {
      if (ms !== delayMs) return start(callback, ms);
      started += 1;
      const timer = start(() => {
        fired += 1;
        callback();
      }, ms);
      running.add(timer);
      return timer;
    });
  const stopping = vi.spyOn(globalThis, "clearTimeout").mockImplementation((timer) => {
    running.delete(timer);
    stop(timer);
  });
  return {
    started: () => started,
    running: () => running.size,
    fired: () => fired,
    restore() {
      starting.mockRestore();
      stopping.mockRestore();
    },
  };
}
