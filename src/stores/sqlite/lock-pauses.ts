/** How long this handle may go on taking the lock while other connections want it too. */
const WRITE_MS = 5;
/** The pause after that. Longer than the delay between two attempts of the others. */
const PAUSE_MS = 3;
/** For this long after the lock was found held, other connections are expected to want it again. */
const CONTENDED_MS = 500;

/**
 * When a handle leaves the lock of the file to others. SQLite keeps no queue of the processes that wait for
 * its lock, so a process that takes it again at once would keep it for itself. Each process that has met
 * another one pauses after it has written for a while.
 */
export class LockPauses {
  #contendedUntil = 0;
  #writesUntil = 0;
  #pausedUntil = 0;

  /** Milliseconds until this handle may take the lock; 0 if it may now. */
  get remainingMs(): number {
    return this.#pausedUntil === 0 ? 0 : Math.max(0, this.#pausedUntil - performance.now());
  }

  /** The lock was found held by another connection. */
  onBusy(): void {
    this.#contendedUntil = performance.now() + CONTENDED_MS;
  }

  /** This handle got the lock that it had found held. */
  onTaken(): void {
    this.#writesUntil = performance.now() + WRITE_MS;
  }

  /** This handle has released the lock. */
  onReleased(): void {
    if (this.#contendedUntil === 0) return;
    const now = performance.now();
    if (now >= this.#contendedUntil) this.#contendedUntil = 0;
    else if (now >= this.#writesUntil) {
      this.#pausedUntil = now + PAUSE_MS;
      this.#writesUntil = this.#pausedUntil + WRITE_MS;
    }
  }
}
