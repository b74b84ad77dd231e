import type { TwinClock } from "./twin-clock.js";

/** How the deliveries under way are stopped. */
export interface Stop {
  readonly isStopped: () => boolean;
  /** Waits on the clock; less where it is stopped meanwhile. */
  readonly pause: (ms: number) => Promise<void>;
  /** Has `close` wait for `work`, which may not reject. */
  readonly track: <T>(work: Promise<T>) => Promise<T>;
  /** Stops, and resolves when all that is tracked has settled. */
  readonly close: () => Promise<void>;
}

/** Makes the stop of a twin; `signal` pulls it too. `onStop` is called once. */
export function createStop(
  clock: TwinClock,
  signal: AbortSignal | undefined,
  onStop: () => void,
): Stop {
  const pauses = new Set<() => void>();
  const tracked = new Set<Promise<unknown>>();
  let stopped = false;

  const stop = (): void => {
    if (stopped) return;
    stopped = true;
    signal?.removeEventListener("abort", stop);
    for (const endPause of pauses) endPause();
    onStop();
  };
  if (signal?.aborted === true) stop();
  else signal?.addEventListener("abort", stop);

  return {
    isStopped: () => stopped,

    pause: (ms) =>
      new Promise((resolve) => {
        if (stopped) {
          resolve();
          return;
        }
        const endPause = (): void => {
          cancel();
          pauses.delete(endPause);
          resolve();
        };
        const cancel = clock.startTimer(ms, endPause);
        pauses.add(endPause);
      }),

    track(work) {
      tracked.add(work);
      return work.finally(() => tracked.delete(work));
    },

    async close() {
      stop();
      // Work that settles may have started more.
      while (tracked.size > 0) await Promise.allSettled([...tracked]);
    },
  };
}
