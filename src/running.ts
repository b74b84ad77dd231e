/** Counts what is under way, for `drain`. */
export interface Running {
  enter(): void;
  leave(): void;
  /** Counts `work` until it settles. It must not reject. */
  track(work: Promise<void>): void;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
}

/** Makes a counter at zero. */
export function createRunning(): Running {
  let count = 0;
  let waiting: (() => void)[] = [];

  const running: Running = {
    enter() {
      count += 1;
    },
    leave() {
      count -= 1;
      if (count > 0 || waiting.length === 0) return;
      const idle = waiting;
      waiting = [];
      for (const resolve of idle) resolve();
    },
    track(work) {
      running.enter();
      void work.finally(() => {
        running.leave();
      });
    },
    idle() {
      return count === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve));
    },
  };
  return running;
}
