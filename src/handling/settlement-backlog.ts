import { startBackgroundTimer } from "../common/timers.js";

/** One call of the store that waits to be repeated. */
interface Entry {
  /** Rejects if the store fails. */
  readonly call: () => Promise<void>;
  /** Until then the call is repeated even after it has succeeded, by `performance.now()`. */
  readonly until: number;
  /** Resolves the promise that `add` returned. */
  readonly finish: () => void;
}

const FIRST_DELAY_MS = 1_000;
/** Short, because another process can take over a handled delivery once its lease has ended. */
const MAX_DELAY_MS = 2_000;
/** A round that is later than this counts as lost. Busy processes and slow stores delay it far less. */
const MAX_LATENESS_MS = 60_000;
/** Bounds the memory in a long outage. */
const MAX_ENTRIES = 10_000;

/**
 * Completions or releases that the store has not taken yet, at most 10 000. They are repeated until it takes
 * them. It has a timer only while it is not empty.
 */
export class SettlementBacklog {
  readonly #entries = new Map<string, Entry>();
  readonly #onGivenUp: (key: string) => void;
  /** When the next round should begin, by `performance.now()`. */
  #dueAt: number | undefined;
  #delayMs = FIRST_DELAY_MS;

  /** `onGivenUp` is called for the oldest entry when the backlog is full. */
  constructor(onGivenUp: (key: string) => void) {
    this.#onGivenUp = onGivenUp;
  }

  /** How many calls wait. */
  size(): number {
    return this.#entries.size;
  }

  /**
   * Repeats `call` until it succeeds or is given up; then the promise resolves. A call that succeeds before
   * `until` goes on to be repeated until then.
   */
  add(key: string, call: () => Promise<void>, until = 0): Promise<void> {
    if (this.#entries.size >= MAX_ENTRIES) this.#giveUpOldest();
    return new Promise((finish) => {
      this.#entries.get(key)?.finish();
      this.#entries.set(key, { call, until, finish });
      this.#schedule();
    });
  }

  /** Tries each call once more now, one after the other. Never rejects. */
  async flush(): Promise<void> {
    for (const [key, entry] of [...this.#entries]) await this.#attempt(key, entry);
  }

  #giveUpOldest(): void {
    for (const [oldest, { finish }] of this.#entries) {
      this.#entries.delete(oldest);
      finish();
      this.#onGivenUp(oldest);
      return;
    }
  }

  #schedule(): void {
    if (this.#entries.size === 0) return;
    const now = performance.now();
    // A round that is later than this never begins: the runtime has ended the request that started its
    // timer.
    if (this.#dueAt !== undefined && now < this.#dueAt + MAX_LATENESS_MS) return;
    const ownDueAt = (this.#dueAt = now + this.#delayMs);
    startBackgroundTimer(this.#delayMs, () => {
      if (this.#dueAt !== ownDueAt) return;
      this.#delayMs = Math.min(this.#delayMs * 2, MAX_DELAY_MS);
      void this.#runRound().then(() => {
        // If this round took too long, another one has begun and schedules the next.
        if (this.#dueAt !== ownDueAt) return;
        this.#dueAt = undefined;
        this.#schedule();
      });
    });
  }

  /**
   * Tries the calls one after the other, up to the first failure: a store that is coming back must
   * not get thousands of calls at once.
   */
  async #runRound(): Promise<void> {
    for (const [key, entry] of [...this.#entries]) {
      if (!(await this.#attempt(key, entry))) return;
    }
    this.#delayMs = FIRST_DELAY_MS;
  }

  async #attempt(key: string, entry: Entry): Promise<boolean> {
    try {
      await entry.call();
      // By now the entry may belong to a later run of the same delivery. One completion is enough for
      // both.
      this.#entries.get(key)?.finish();
      if (performance.now() >= entry.until) this.#entries.delete(key);
      return true;
    } catch {
      // Moved to the end: one key that the store refuses must not hold up the others.
      if (this.#entries.get(key) === entry) {
        this.#entries.delete(key);
        this.#entries.set(key, entry);
      }
      return false;
    }
  }
}
