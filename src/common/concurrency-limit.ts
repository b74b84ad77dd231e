/** One slot of a `ConcurrencyLimit`. It is in use until `leave`. */
export interface Slot {
  /** From this time on it may be freed without `leave`, by `performance.now()`. */
  readonly endsAt: number;
}

/**
 * Limits how many calls run at once. When all slots are in use, those that are older than `maxMs`
 * milliseconds are freed. Without that, slots could be lost: a runtime that ends a request's context calls
 * none of its timers and settles none of its promises.
 */
export class ConcurrencyLimit {
  readonly #inUse = new Set<Slot>();

  constructor(
    private readonly slots: number,
    private readonly maxMs: number,
  ) {}

  /** Whether all slots are in use. */
  isReached(): boolean {
    if (this.#inUse.size < this.slots) return false;
    const now = performance.now();
    // Oldest first. All slots have the same time limit, so the first live one ends the search.
    for (const slot of this.#inUse) {
      if (slot.endsAt > now) break;
      this.#inUse.delete(slot);
    }
    return this.#inUse.size >= this.slots;
  }

  /** Takes a slot. Call it only when `isReached` is false. */
  enter(): Slot {
    const slot = { endsAt: performance.now() + this.maxMs };
    this.#inUse.add(slot);
    return slot;
  }

  /** Frees a slot. Does nothing for one that is already free. */
  leave(slot: Slot): void {
    this.#inUse.delete(slot);
  }
}
