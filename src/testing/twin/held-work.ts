/** A piece of work for which a virtual clock holds its time. */
export interface HeldWork {
  readonly clock: object;
  /** How many sleeps of its own it waits for. */
  sleeps: number;
  /** How many timers it has started that are still to come. */
  timers: number;
  /** How many pieces of held work it has begun that are under way. */
  parts: number;
  hasEnded: boolean;
}

/** What work does, as far as a clock can see. `expectant`: nothing that is known of, but it has timers. */
type WorkState = "busy" | "expectant" | "asleep" | "ended";

/** All work that a clock holds, by what it does. */
export interface HeldWorks {
  readonly begin: (clock: object) => HeldWork;
  /** Every change of a piece of work is made by this, which keeps count. */
  readonly change: (work: HeldWork, edit: (work: HeldWork) => void) => void;
  /** Whether some work is not asleep. */
  readonly areAwake: () => boolean;
  /** Whether some work waits for a moment to come, or seems to. */
  readonly areWaiting: () => boolean;
}

/** Makes the count. */
export function createHeldWorks(): HeldWorks {
  const counts: Record<WorkState, number> = { busy: 0, expectant: 0, asleep: 0, ended: 0 };
  return {
    begin(clock) {
      counts.busy++;
      return { clock, sleeps: 0, timers: 0, parts: 0, hasEnded: false };
    },
    change(work, edit) {
      counts[stateOf(work)]--;
      edit(work);
      counts[stateOf(work)]++;
    },
    areAwake: () => counts.busy + counts.expectant > 0,
    areWaiting: () => counts.asleep + counts.expectant > 0,
  };
}

function stateOf({ sleeps, timers, parts, hasEnded }: HeldWork): WorkState {
  // Work that has ended may leave sleeps behind, as Promise.race does.
  if (hasEnded) return "ended";
  if (sleeps > 0) return "asleep";
  return timers > 0 && parts === 0 ? "expectant" : "busy";
}
