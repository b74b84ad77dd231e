import { startBackgroundTimer } from "./background-timer.js";

/** Completes a delivery in the store. Rejects where the store is away. */
export type Complete = (id: string, owner: string) => Promise<void>;

/** Deliveries that were handled, but whose completion the store has not taken yet. */
export interface CompletionBacklog {
  /** Whether `id` waits here: it was handled, whatever the store says. */
  readonly has: (id: string) => boolean;
  /** Tries to complete `id` again later, until it succeeds. */
  readonly add: (id: string, owner: string) => void;
  /** Tries each once more now, one after the other. Never rejects. */
  readonly flush: () => Promise<void>;
}

const FIRST_DELAY_MS = 1_000;
/** Soon after the store is back: the lease of what was handled may end, and another process take over. */
const MAX_DELAY_MS = 2_000;
/** Keeps a long outage from filling the memory. Claims fail too by then, so hardly any are added. */
const MAX_ENTRIES = 10_000;

/** Makes the backlog; it has a timer only while something waits in it. */
export function createCompletionBacklog(
  complete: Complete,
  onGivenUp: (id: string) => void,
): CompletionBacklog {
  const owners = new Map<string, string>();
  let isScheduled = false;
  let delayMs = FIRST_DELAY_MS;

  const schedule = (): void => {
    if (owners.size === 0 || isScheduled) return;
    isScheduled = true;
    startBackgroundTimer(delayMs, () => {
      isScheduled = false;
      delayMs = Math.min(delayMs * 2, MAX_DELAY_MS);
      void retry().then(schedule);
    });
  };

  const attempt = async (id: string, owner: string): Promise<boolean> => {
    try {
      await complete(id, owner);
      owners.delete(id);
      return true;
    } catch {
      // To the end of the line, so that one id which the store will not take holds up no other.
      owners.delete(id);
      owners.set(id, owner);
      return false;
    }
  };

  // One after the other, and no further than the first failure: a store that is coming back is not
  // to be met by thousands of calls at once.
  const retry = async (): Promise<void> => {
    for (const [id, owner] of [...owners]) {
      if (!(await attempt(id, owner))) return;
    }
    delayMs = FIRST_DELAY_MS;
  };

  return {
    has: (id) => owners.size > 0 && owners.has(id),
    add(id, owner) {
      if (owners.size >= MAX_ENTRIES) {
        for (const oldest of owners.keys()) {
          owners.delete(oldest);
          onGivenUp(oldest);
          break;
        }
      }
      owners.set(id, owner);
      schedule();
    },
    async flush() {
      for (const [id, owner] of [...owners]) await attempt(id, owner);
    },
  };
}
