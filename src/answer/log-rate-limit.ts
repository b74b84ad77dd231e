import { LRUCache } from "lru-cache";

/** After a line about a subject, further lines about it are held back for this long. */
const INTERVAL_MS = 60_000;
/** Number of subjects remembered. A forgotten subject gets a line too early, but never too late. */
const MAX_SUBJECTS = 1_000;

/**
 * Limits log lines to one a minute for each subject, which is an outcome or an outcome of one delivery
 * id. Senders can cause such lines at will.
 */
export class LogRateLimit {
  readonly #last = new LRUCache<string, { at: number; heldBack: number }>({ max: MAX_SUBJECTS });

  /**
   * Undefined if a line about `subject` must be held back now; otherwise the number of lines that were
   * held back since the last one.
   */
  admit(subject: string): number | undefined {
    const now = performance.now();
    const known = this.#last.get(subject);
    if (known !== undefined && now - known.at < INTERVAL_MS) {
      known.heldBack += 1;
      return undefined;
    }
    this.#last.set(subject, { at: now, heldBack: 0 });
    return known?.heldBack ?? 0;
  }
}
