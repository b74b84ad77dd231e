/** Who handles a key, and until when unless it is renewed. */
export interface Lease {
  owner: string;
  expiresAt: number;
  /** Whether an earlier lease on the key ended without a verdict. */
  takeover: boolean;
}

/** The leases by their key. */
export interface Leases {
  count(): number;
  get(key: string): Lease | undefined;
  /** Adds the lease of a key that has none. */
  add(key: string, lease: Lease): void;
  /** Whether there was one. */
  delete(key: string): boolean;
  deleteEnded(now: number): void;
}

/**
 * A Map, and beside it the newest lease. Where that ends before the next begins, as it does with
 * handlers that do not wait, the Map stays untouched: one that is filled and emptied in turn is
 * reorganised all the time, which took a third of a claim and its completion (440 ns, without 280).
 */
export function createLeases(): Leases {
  const older = new Map<string, Lease>();
  let newestKey: string | undefined;
  let newest: Lease | undefined;

  const forgetNewest = (): void => {
    newestKey = undefined;
    newest = undefined;
  };

  return {
    count: () => older.size + (newest === undefined ? 0 : 1),

    get(key) {
      if (key === newestKey) return newest;
      return older.size === 0 ? undefined : older.get(key);
    },

    add(key, lease) {
      if (newestKey !== undefined && newest !== undefined) older.set(newestKey, newest);
      newestKey = key;
      newest = lease;
    },

    delete(key) {
      if (key !== newestKey) return older.size !== 0 && older.delete(key);
      forgetNewest();
      return true;
    },

    deleteEnded(now) {
      for (const [key, lease] of older) if (lease.expiresAt <= now) older.delete(key);
      if (newest !== undefined && newest.expiresAt <= now) forgetNewest();
    },
  };
}
