import { vi } from "vitest";

/** Counts the timers of a length that were started and are not cleared. `restore` ends it. */
export function watchTimers(delayMs: number): { running: () => number; restore: () => void } {
  const running = new Set<unknown>();
  const { setTimeout: start, clearTimeout: stop } = globalThis;
  const starting = vi
    .spyOn(globalThis, "setTimeout")
    .mockImplementation((callback: () => void, ms?: number) => {
      const timer = start(callback, ms);
      if (ms === delayMs) running.add(timer);
      return timer;
    });
  const stopping = vi.spyOn(globalThis, "clearTimeout").mockImplementation((timer) => {
    running.delete(timer);
    stop(timer);
  });
  return {
    running: () => running.size,
    restore() {
      starting.mockRestore();
      stopping.mockRestore();
    },
  };
}
