interface Timer {
  readonly due: number;
  readonly sequence: number;
  readonly run: () => void;
  isRemoved: boolean;
}

/**
 * Timers in the order in which they are due. Timers that are due at the same time keep the order in which
 * they were added. A sorted array: nearly all timers are added and removed at its end.
 */
export class TimerQueue {
  readonly #timers: Timer[] = [];
  #added = 0;

  /** Adds a timer. Returns a function that removes it. */
  add(due: number, run: () => void): () => void {
    const timer: Timer = { due, sequence: this.#added++, run, isRemoved: false };
    this.#timers.splice(this.#indexAfter(due, timer.sequence), 0, timer);
    return () => {
      timer.isRemoved = true;
      const index = this.#indexAfter(due, timer.sequence) - 1;
      if (this.#timers[index] === timer) this.#timers.splice(index, 1);
    };
  }

  /** When the first timer is due. Undefined when there is no timer. */
  firstDue(): number | undefined {
    return this.#timers[0]?.due;
  }

  /** Takes all timers that are due at `time` out of the queue and runs them. */
  runDue(time: number): void {
    // All are taken out first: a timer of 0 ms that one of them adds waits for the next call.
    for (const timer of this.#timers.splice(0, this.#indexAfter(time, this.#added))) {
      // One of those before it may have removed it.
      if (!timer.isRemoved) timer.run();
    }
  }

  /** Index of the first timer that comes after this due time and sequence. */
  #indexAfter(due: number, sequence: number): number {
    let low = 0;
    let high = this.#timers.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const timer = this.#timers[middle];
      if (timer === undefined || isAfter(timer, due, sequence)) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

function isAfter(timer: Timer, due: number, sequence: number): boolean {
  return timer.due === due ? timer.sequence > sequence : timer.due > due;
}
