/** A piece of work during which a virtual clock is paused. */
export interface TrackedWork {
  /** Identifies the clock. */
  readonly clock: object;
  /** How many sleeps on the clock the work has under way. */
  sleeps: number;
  /** How many timers the work has started that have not fired. */
  timers: number;
  /** How many pieces of tracked work it has started that have not ended. */
  parts: number;
  hasEnded: boolean;
}

/**
 * What a piece of work does, as far as a clock can see. `expectant`: it has timers and no known activity,
 * so it probably waits for a timer.
 */
type WorkState = "busy" | "expectant" | "asleep" | "ended";

/** Counts the work of one clock by state. */
export class WorkTracker {
  readonly #counts: Record<WorkState, number> = { busy: 0, expectant: 0, asleep: 0, ended: 0 };

  /** Starts a piece of work. */
  begin(clock: object): TrackedWork {
    this.#counts.busy++;
    return { clock, sleeps: 0, timers: 0, parts: 0, hasEnded: false };
  }

  /** Changes a piece of work. Every change goes through here, so that the counts stay right. */
  change(work: TrackedWork, edit: (work: TrackedWork) => void): void {
    this.#counts[stateOf(work)]--;
    edit(work);
    this.#counts[stateOf(work)]++;
  }

  /** Whether any work is awake. */
  get hasAwake(): boolean {
    return this.#counts.busy + this.#counts.expectant > 0;
  }

  /** Whether any work waits for the clock, or probably does. */
  get hasWaiting(): boolean {
    return this.#counts.asleep + this.#counts.expectant > 0;
  }
}

function stateOf({ sleeps, timers, parts, hasEnded }: TrackedWork): WorkState {
  // Ended work may leave sleeps behind, as Promise.race does.
  if (hasEnded) return "ended";
  if (sleeps > 0) return "asleep";
  return timers > 0 && parts === 0 ? "expectant" : "busy";
}
