/** One at a time, in the order of asking. */
export interface Turns {
  /**
   * Resolves when it is the caller's turn, with the function that ends the turn; to be called once.
   * Rejects where it has not come after `timeoutMs`.
   */
  readonly take: (timeoutMs: number) => Promise<() => void>;
}

/** Transactions of other deliveries took the time. Answered 503, so nothing is lost. */
class TurnTimeoutError extends Error {
  override readonly name = "TurnTimeoutError";

  constructor(timeoutMs: number) {
    super(`the transactions of other deliveries took longer than ${timeoutMs} ms (waitTimeoutMs)`);
  }
}

/** By handle: a connection has one transaction, whoever shares it. */
const turnsByHandle = new WeakMap<object, Turns>();

/** The turns on a database handle: the same for all who ask with it. */
export function turnsOn(handle: object): Turns {
  let turns = turnsByHandle.get(handle);
  if (turns === undefined) {
    turns = createTurns();
    turnsByHandle.set(handle, turns);
  }
  return turns;
}

function createTurns(): Turns {
  let isTaken = false;
  /** What starts each turn that is waited for. */
  const waiting = new Set<() => void>();

  const end = (): void => {
    for (const start of waiting) {
      waiting.delete(start);
      start();
      return;
    }
    isTaken = false;
  };

  return {
    take(timeoutMs) {
      if (!isTaken) {
        isTaken = true;
        return Promise.resolve(end);
      }
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(start);
          reject(new TurnTimeoutError(timeoutMs));
        }, timeoutMs);
        const start = (): void => {
          clearTimeout(timer);
          resolve(end);
        };
        waiting.add(start);
      });
    },
  };
}
