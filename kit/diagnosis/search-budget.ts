/**
 * Limits how many bytes a search reads. A large body costs more for each attempt, so fewer readings of it
 * are tried.
 */
export class SearchBudget {
  #bytesLeft: number;
  #isExceeded = false;

  constructor(totalBytes: number) {
    this.#bytesLeft = totalBytes;
  }

  /** Takes the cost of reading `bytes` bytes. Returns false, and takes nothing, if too little is left. */
  spend(bytes: number): boolean {
    if (bytes > this.#bytesLeft) {
      this.#isExceeded = true;
      return false;
    }
    this.#bytesLeft -= bytes;
    return true;
  }

  /** Whether a cost was refused, so that the search is incomplete. */
  isExceeded(): boolean {
    return this.#isExceeded;
  }
}
