import type { TwinClock } from "./twin-clock.js";

/** Ends the pauses of a twin when it is stopped, and waits for the requests under way. */
export class Shutdown {
  readonly #clock: TwinClock;
  readonly #signal: AbortSignal | undefined;
  readonly #onStop: () => void;
  readonly #pauses = new Set<() => void>();
  readonly #inFlight = new Set<Promise<unknown>>();
  #isStopped = false;

  /**
   * @param signal Stops the twin too.
   * @param onStop Called once, when the twin is stopped.
   */
  constructor(clock: TwinClock, signal: AbortSignal | undefined, onStop: () => void) {
    this.#clock = clock;
    this.#signal = signal;
    this.#onStop = onStop;
    if (signal?.aborted === true) this.#stop();
    else signal?.addEventListener("abort", this.#stop);
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Waits on the clock. Resolves early when the twin is stopped. */
  pause(ms: number): Promise<void> {
    if (this.#isStopped) return Promise.resolve();
    return new Promise((resolve) => {
      const endPause = (): void => {
        cancel();
        this.#pauses.delete(endPause);
        resolve();
      };
      const cancel = this.#clock.startTimer(ms, endPause);
      this.#pauses.add(endPause);
    });
  }

  /** Makes `close` wait for `work`, which must not reject. */
  track<T>(work: Promise<T>): Promise<T> {
    this.#inFlight.add(work);
    return work.finally(() => this.#inFlight.delete(work));
  }

  /** Stops the twin. Resolves when all tracked work has settled. */
  async close(): Promise<void> {
    this.#stop();
    // Work that settles may have started more work.
    while (this.#inFlight.size > 0) await Promise.allSettled([...this.#inFlight]);
  }

  readonly #stop = (): void => {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#signal?.removeEventListener("abort", this.#stop);
    for (const endPause of this.#pauses) endPause();
    this.#onStop();
  };
}
