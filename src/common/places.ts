/** One of a limited number of places; taken until it is given back. */
export interface Place {
  /** When it counts as given back in any case, by `performance.now()`. */
  readonly endsAt: number;
}

/**
 * A limited number of places. A place that is not given back in `maxMs` counts as free once all are
 * taken: a runtime that ends a request's context calls none of its timers and settles none of its promises.
 */
export class Places {
  readonly #taken = new Set<Place>();

  constructor(
    private readonly count: number,
    private readonly maxMs: number,
  ) {}

  areTaken(): boolean {
    if (this.#taken.size < this.count) return false;
    const now = performance.now();
    // The oldest first, as all are taken for the same time.
    for (const place of this.#taken) {
      if (place.endsAt > now) break;
      this.#taken.delete(place);
    }
    return this.#taken.size >= this.count;
  }

  take(): Place {
    const place = { endsAt: performance.now() + this.maxMs };
    this.#taken.add(place);
    return place;
  }

  /** Does nothing for one that was given back before. */
  give(place: Place): void {
    this.#taken.delete(place);
  }
}
