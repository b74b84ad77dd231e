/** Limits how many bytes a search reads: a large body costs more for each attempt, so fewer readings are tried. */
export class SearchBudget {
  #bytesLeft: number;
  /** Whether a cost was refused, so that the search is incomplete. */
  isExceeded = false;

  constructor(totalBytes: number) {
    this.#bytesLeft = totalBytes;
  }

  /** Takes the cost of reading `bytes` bytes. Returns false, and takes nothing, if too little is left. */
  spend(bytes: number): boolean {
    const isEnough = bytes <= this.#bytesLeft;
    if (isEnough) this.#bytesLeft -= bytes;
    else this.isExceeded = true;
    return isEnough;
  }
}
