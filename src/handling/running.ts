import { MAX_TIMER_MS } from "../common/integer-option.js";

/** Counts what is under way, for `drain`. */
export interface Running {
  enter(): void;
  leave(): void;
  /** Counts `work` until it settles. It must not reject. */
  track(work: Promise<void>): void;
  /** Whether nothing is under way. */
  isIdle(): boolean;
  /** Resolves when nothing is under way, or `timeoutMs` is over, with how much still is. */
  idle(timeoutMs: number): Promise<number>;
}

/** Makes a counter at zero. */
export function createRunning(): Running {
  let count = 0;
  const waiting = new Set<() => void>();

  const running: Running = {
    enter() {
      count += 1;
    },
    leave() {
      count -= 1;
      if (count > 0 || waiting.size === 0) return;
      for (const resolve of [...waiting]) resolve();
    },
    track(work) {
      running.enter();
      void work.finally(() => {
        running.leave();
      });
    },
    isIdle: () => count === 0,
    idle(timeoutMs) {
      if (count === 0) return Promise.resolve(0);
      return new Promise((resolve) => {
        const end = (): void => {
          clearTimeout(timer);
          waiting.delete(end);
          resolve(count);
        };
        // Beyond that a timer fires at once. Without one, the last delivery ends the wait.
        const timer = timeoutMs <= MAX_TIMER_MS ? setTimeout(end, timeoutMs) : undefined;
        waiting.add(end);
      });
    },
  };
  return running;
}
