import { startBackgroundTimer } from "../common/timers.js";

/** The callbacks of `CompletionBacklog`. */
export interface BacklogOptions {
  /** Completes a delivery in the store. Rejects if the store fails. */
  readonly complete: (id: string, owner: string) => Promise<void>;
  /** Called for the oldest delivery when the backlog is full. */
  readonly onGivenUp: (id: string) => void;
}

/** One delivery in the backlog. */
interface Entry {
  readonly owner: string;
  /** Resolves the promise that `add` returned. */
  readonly finish: () => void;
}

const FIRST_DELAY_MS = 1_000;
/** Short, because another process can take over a handled delivery once its lease has ended. */
const MAX_DELAY_MS = 2_000;
/** A round that is later than this counts as lost. Busy processes and slow stores delay it far less. */
const MAX_LATENESS_MS = 60_000;
/** Bounds the memory in a long outage. Few deliveries are added then, because claims fail too. */
const MAX_ENTRIES = 10_000;

/**
 * Deliveries that were handled, but whose completion the store has not taken yet. It has a timer only
 * while it is not empty.
 */
export class CompletionBacklog {
  readonly #entries = new Map<string, Entry>();
  readonly #options: BacklogOptions;
  /** When the next round should begin, by `performance.now()`. */
  #dueAt: number | undefined;
  #delayMs = FIRST_DELAY_MS;

  constructor(options: BacklogOptions) {
    this.#options = options;
  }

  /** Whether `id` is in the backlog. Then it was handled, even if the store does not know it. */
  has(id: string): boolean {
    return this.#entries.size > 0 && this.#entries.has(id);
  }

  /** How many completions wait. */
  size(): number {
    return this.#entries.size;
  }

  /** Retries the completion of `id` until it succeeds or is given up; then the promise resolves. */
  add(id: string, owner: string): Promise<void> {
    if (this.#entries.size >= MAX_ENTRIES) this.#giveUpOldest();
    return new Promise((finish) => {
      this.#entries.get(id)?.finish();
      this.#entries.set(id, { owner, finish });
      this.#schedule();
    });
  }

  /** Tries each completion once more now, one after the other. Never rejects. */
  async flush(): Promise<void> {
    for (const [id, entry] of [...this.#entries]) await this.#attempt(id, entry);
  }

  #giveUpOldest(): void {
    for (const [oldest, { finish }] of this.#entries) {
      this.#entries.delete(oldest);
      finish();
      this.#options.onGivenUp(oldest);
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
   * Tries the completions one after the other, up to the first failure: a store that is coming back must
   * not get thousands of calls at once.
   */
  async #runRound(): Promise<void> {
    for (const [id, entry] of [...this.#entries]) {
      if (!(await this.#attempt(id, entry))) return;
    }
    this.#delayMs = FIRST_DELAY_MS;
  }

  async #attempt(id: string, entry: Entry): Promise<boolean> {
    try {
      await this.#options.complete(id, entry.owner);
      // By now the entry may belong to a later run of the same delivery. One completion is enough for
      // both.
      this.#entries.get(id)?.finish();
      this.#entries.delete(id);
      return true;
    } catch {
      // Moved to the end: one id that the store refuses must not hold up the others.
      if (this.#entries.get(id) === entry) {
        this.#entries.delete(id);
        this.#entries.set(id, entry);
      }
      return false;
    }
  }
}
