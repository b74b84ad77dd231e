/** Runs `work` when the event loop has taken in what has arrived so far, and before it waits for more. */
export function atTurnEnd(work: () => void): void {
  // A microtask would run after the first of many requests that arrive together, a timer 1 ms later.
  setImmediate(work);
}

/**
 * Tells whether the calls on a handle come one delivery at a time. A call that does needs no group: it
 * would only wait for itself.
 */
export class Turns {
  /** The key of the first call in this turn of the event loop; undefined if there was none. */
  #key: string | undefined;
  #hasSeveralKeys = false;
  /** Whether the last turn that had calls had several keys. */
  #hadSeveralKeys = false;

  /** Counts a call. True if this turn, and the last one that had calls, had calls for one key only. */
  add(key: string): boolean {
    if (this.#key === undefined) {
      this.#key = key;
      atTurnEnd(() => this.#end());
    }
    // The completion of a handler that takes no time comes in the turn of the claim.
    this.#hasSeveralKeys ||= key !== this.#key;
    return !this.#hasSeveralKeys && !this.#hadSeveralKeys;
  }

  #end(): void {
    this.#hadSeveralKeys = this.#hasSeveralKeys;
    this.#hasSeveralKeys = false;
    this.#key = undefined;
  }
}
