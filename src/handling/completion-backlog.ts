import { startBackgroundTimer } from "../common/timers.js";

/** Completes a delivery in the store. Rejects where the store is away. */
export type Complete = (id: string, owner: string) => Promise<void>;

/** Deliveries that were handled, but whose completion the store has not taken yet. */
export interface CompletionBacklog {
  /** Whether `id` waits here: it was handled, whatever the store says. */
  readonly has: (id: string) => boolean;
  /** Tries to complete `id` again later. Resolves when it has succeeded, or is given up. */
  readonly add: (id: string, owner: string) => Promise<void>;
  /** Tries each once more now, one after the other. Never rejects. */
  readonly flush: () => Promise<void>;
}

/** One delivery that waits. */
interface Entry {
  readonly owner: string;
  /** Resolves the promise that `add` returned. */
  readonly finish: () => void;
}

const FIRST_DELAY_MS = 1_000;
/** Soon after the store is back: the lease of what was handled may end, and another process take over. */
const MAX_DELAY_MS = 2_000;
/** Far more than a busy process or a store that takes its time holds a round up. */
const MAX_LATENESS_MS = 60_000;
/** Keeps a long outage from filling the memory. Claims fail too by then, so hardly any are added. */
const MAX_ENTRIES = 10_000;

/** Makes the backlog; it has a timer only while something waits in it. */
export function createCompletionBacklog(
  complete: Complete,
  onGivenUp: (id: string) => void,
): CompletionBacklog {
  const entries = new Map<string, Entry>();
  /** When the next round should have begun, by `performance.now()`. */
  let dueAt: number | undefined;
  let delayMs = FIRST_DELAY_MS;

  const schedule = (): void => {
    if (entries.size === 0) return;
    const now = performance.now();
    // A round that is late by so much never comes: a runtime has ended the request that its timer was of.
    if (dueAt !== undefined && now < dueAt + MAX_LATENESS_MS) return;
    const ownDueAt = (dueAt = now + delayMs);
    startBackgroundTimer(delayMs, () => {
      if (dueAt !== ownDueAt) return;
      delayMs = Math.min(delayMs * 2, MAX_DELAY_MS);
      void retry().then(() => {
        // Another has begun where this one took too long. Until then nothing else is scheduled.
        if (dueAt !== ownDueAt) return;
        dueAt = undefined;
        schedule();
      });
    });
  };

  const attempt = async (id: string, entry: Entry): Promise<boolean> => {
    try {
      await complete(id, entry.owner);
      // Perhaps by a later run of the same delivery: one completion is enough.
      entries.get(id)?.finish();
      entries.delete(id);
      entry.finish();
      return true;
    } catch {
      // To the end of the line, so that one id which the store will not take holds up no other.
      if (entries.get(id) === entry) {
        entries.delete(id);
        entries.set(id, entry);
      }
      return false;
    }
  };

  // One after the other, and no further than the first failure: a store that is coming back is not
  // to be met by thousands of calls at once.
  const retry = async (): Promise<void> => {
    for (const [id, entry] of [...entries]) {
      if (!(await attempt(id, entry))) return;
    }
    delayMs = FIRST_DELAY_MS;
  };

  return {
    has: (id) => entries.size > 0 && entries.has(id),
    add(id, owner) {
      if (entries.size >= MAX_ENTRIES) {
        for (const [oldest, { finish }] of entries) {
          entries.delete(oldest);
          finish();
          onGivenUp(oldest);
          break;
        }
      }
      return new Promise((finish) => {
        entries.get(id)?.finish();
        entries.set(id, { owner, finish });
        schedule();
      });
    },
    async flush() {
      for (const [id, entry] of [...entries]) await attempt(id, entry);
    },
  };
}
