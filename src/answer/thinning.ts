import { LRUCache } from "lru-cache";

/** How long the lines of one subject are held back after one was written. */
const THINNING_MS = 60_000;
/** Ids that are remembered; one that is forgotten gets another line, so no new id is ever held back. */
const MAX_SUBJECTS = 1_000;

/**
 * Thins lines that can be caused at will: says whether one may be written now for a subject (an
 * outcome, or an outcome of one delivery id), and how many of it were held back since the last.
 */
export function createThinning(now: () => number): (subject: string) => number | undefined {
  const last = new LRUCache<string, { at: number; heldBack: number }>({ max: MAX_SUBJECTS });
  return (subject) => {
    const known = last.get(subject);
    if (known !== undefined && now() - known.at < THINNING_MS) {
      known.heldBack += 1;
      return undefined;
    }
    last.set(subject, { at: now(), heldBack: 0 });
    return known?.heldBack ?? 0;
  };
}
