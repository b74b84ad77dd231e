import { MAX_TIMER_MS } from "./timers.js";

/** Counts the work in flight, so that `drain` and `stop` can wait for its end. */
export class InFlightCount {
  #count = 0;
  readonly #waiting = new Set<() => void>();

  /** Counts one piece of work until `leave`. */
  enter(): void {
    this.#count += 1;
  }

  leave(): void {
    this.#count -= 1;
    if (this.#count > 0 || this.#waiting.size === 0) return;
    for (const resolve of [...this.#waiting]) resolve();
  }

  /** Counts `work` until it settles. It must not reject. */
  track(work: Promise<void>): void {
    this.enter();
    void work.finally(() => this.leave());
  }

  /** How much work is in flight. */
  count(): number {
    return this.#count;
  }

  /** Waits until nothing is in flight, for at most `timeoutMs`. Resolves to the number still in flight. */
  waitUntilIdle(timeoutMs: number): Promise<number> {
    if (this.#count === 0) return Promise.resolve(0);
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(end);
        resolve(this.#count);
      };
      // A timer longer than this would fire at once. Without a timer, only the last `leave` ends the wait.
      const timer = timeoutMs <= MAX_TIMER_MS ? setTimeout(end, timeoutMs) : undefined;
      this.#waiting.add(end);
    });
  }
}
