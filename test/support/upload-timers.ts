import { vi } from "vitest";

/** Counts the timers of a length: all that were started, and those not cleared. `restore` ends it. */
export function watchTimers(delayMs: number): {
  started: () => number;
  running: () => number;
  restore: () => void;
} {
  let started = 0;
  const running = new Set<unknown>();
  const { setTimeout: start, clearTimeout: stop } = globalThis;
  const starting = vi
    .spyOn(globalThis, "setTimeout")
    .mockImplementation((callback: () => void, ms?: number) => {
      const timer = start(callback, ms);
      if (ms === delayMs) {
        started += 1;
        running.add(timer);
      }
      return timer;
    });
  const stopping = vi.spyOn(globalThis, "clearTimeout").mockImplementation((timer) => {
    running.delete(timer);
    stop(timer);
  });
  return {
    started: () => started,
    running: () => running.size,
    restore() {
      starting.mockRestore();
      stopping.mockRestore();
    },
  };
}
