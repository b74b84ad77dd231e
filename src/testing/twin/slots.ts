/** Bounds how many pieces of work run at a time; those that wait are taken in their order. */
export interface Slots {
  readonly run: <T>(work: () => Promise<T>) => Promise<T>;
  /** Resolves when a slot is free and nobody waits for it. */
  readonly free: () => Promise<void>;
}

/** Makes `limit` slots. */
export function createSlots(limit: number): Slots {
  const waiting: (() => void)[] = [];
  let taken = 0;

  const take = (): Promise<void> => {
    if (taken < limit) {
      taken++;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      waiting.push(resolve);
    });
  };

  const giveBack = (): void => {
    const next = waiting.shift();
    // Handed on, and not freed first: someone who comes meanwhile would get in front.
    if (next === undefined) taken--;
    else next();
  };

  return {
    async run(work) {
      await take();
      try {
        return await work();
      } finally {
        giveBack();
      }
    },
    async free() {
      await take();
      giveBack();
    },
  };
}
