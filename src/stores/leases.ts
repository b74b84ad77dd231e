/** Who handles a key, and until when unless it is renewed. */
export interface Lease {
  readonly key: string;
  owner: string;
  expiresAt: number;
  /** Whether an earlier lease on the key ended without completion or release. */
  takeover: boolean;
}

/**
 * The leases of a store in this process: a Map, and beside it the newest lease. A synchronous handler ends
 * its lease before the next one begins, so the Map stays empty. A Map that is filled and emptied in turn
 * reorganizes itself all the time, which takes 2 to 4 % of a delivery of 1 KB.
 */
export class Leases {
  readonly #older = new Map<string, Lease>();
  #newest: Lease | undefined;

  get size(): number {
    return this.#older.size + (this.#newest === undefined ? 0 : 1);
  }

  get(key: string): Lease | undefined {
    return this.#newest?.key === key ? this.#newest : this.#older.get(key);
  }

  /** Adds the lease of a key that has none. */
  add(lease: Lease): void {
    if (this.#newest !== undefined) this.#older.set(this.#newest.key, this.#newest);
    this.#newest = lease;
  }

  /** Returns whether the key had a lease. */
  delete(key: string): boolean {
    if (this.#newest?.key !== key) return this.#older.delete(key);
    this.#newest = undefined;
    return true;
  }

  /** Deletes the leases that have ended at `now`. */
  deleteEnded(now: number): void {
    for (const { key, expiresAt } of this.#older.values()) {
      if (expiresAt <= now) this.#older.delete(key);
    }
    if (this.#newest !== undefined && this.#newest.expiresAt <= now) this.#newest = undefined;
  }
}
