/** One slot of a `ConcurrencyLimit`. It is in use until `leave`. */
export interface Slot {
  /** When it was taken, by `performance.now()`. */
  readonly since: number;
  /** Its place among the slots in use. */
  at: number;
}

/**
 * Limits how many calls run at once. When all slots are in use, those that are older than `maxMs`
 * milliseconds are freed. Without that, slots could be lost: a runtime that ends a request's context calls
 * none of its timers and settles none of its promises.
 */
export class ConcurrencyLimit {
  /** An array: a Set that is filled and emptied in turn takes 2 % of a delivery with an async handler. */
  readonly #inUse: Slot[] = [];

  readonly #slots: number;
  readonly #maxMs: number;

  constructor(slots: number, maxMs: number) {
    this.#slots = slots;
    this.#maxMs = maxMs;
  }

  /** Whether all slots are in use. */
  isReached(): boolean {
    if (this.#inUse.length < this.#slots) return false;
    const now = performance.now();
    const isOld = ({ since }: Slot): boolean => since + this.#maxMs <= now;
    for (const slot of this.#inUse.filter(isOld)) this.leave(slot);
    return this.#inUse.length >= this.#slots;
  }

  /** Takes a slot. Call it only when `isReached` is false. */
  enter(since = performance.now()): Slot {
    const slot = { since, at: this.#inUse.length };
    this.#inUse.push(slot);
    return slot;
  }

  /** Frees a slot. Does nothing for one that is already free. */
  leave(slot: Slot): void {
    if (this.#inUse[slot.at] !== slot) return;
    const last = this.#inUse.pop();
    if (last === undefined || last === slot) return;
    this.#inUse[slot.at] = last;
    last.at = slot.at;
  }
}
