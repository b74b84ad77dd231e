/** Bounds the work of a search by what it costs, so that a large body is tried fewer times. */
export interface SearchBudget {
  /** Takes the cost of going over so many bytes; false where it is not left, and none is taken then. */
  readonly spend: (bytes: number) => boolean;
  /** Whether something was refused, so that the search is not complete. */
  readonly isExceeded: () => boolean;
}

/** Makes a budget of so many bytes. */
export function createSearchBudget(totalBytes: number): SearchBudget {
  let left = totalBytes;
  let exceeded = false;
  return {
    spend(bytes) {
      if (bytes > left) {
        exceeded = true;
        return false;
      }
      left -= bytes;
      return true;
    },
    isExceeded: () => exceeded,
  };
}
