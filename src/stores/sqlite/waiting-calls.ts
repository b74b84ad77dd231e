/**
 * Which waiting calls go first: `running` calls renew or end a delivery that is being handled. If new
 * claims went first, running handlers could lose their leases.
 */
export type Rank = "running" | "new";

/** A call that waits. */
export interface WaitingCall {
  /**
   * Runs it in a transaction of its own. Throws, with no effect, while the file is locked. Otherwise it
   * settles the call.
   */
  readonly attempt: () => void;
  /**
   * Runs it in the open transaction of a group. Returns the function that settles it after the commit.
   * Undefined for a call that needs a transaction of its own.
   */
  join: (() => () => void) | undefined;
}

/** The calls that wait on one handle: first in, first out within a rank. */
export class WaitingCalls {
  readonly #calls: Record<Rank, Set<WaitingCall>> = { running: new Set(), new: new Set() };

  get isEmpty(): boolean {
    return this.#calls.running.size === 0 && this.#calls.new.size === 0;
  }

  add(rank: Rank, call: WaitingCall): void {
    this.#calls[rank].add(call);
  }

  delete(rank: Rank, call: WaitingCall): void {
    this.#calls[rank].delete(call);
  }

  /** The calls at the head of the queue that can be one group, or the one that goes on its own. */
  next(): readonly WaitingCall[] {
    const group: WaitingCall[] = [];
    for (const calls of [this.#calls.running, this.#calls.new]) {
      for (const call of calls) {
        if (call.join === undefined) return group.length === 0 ? [call] : group;
        group.push(call);
      }
    }
    return group;
  }
}
