/** Timers in the order in which they are due; those due at once in the order in which they were added. */
export interface TimeQueue {
  /** Adds a timer, and returns how to remove it. */
  readonly add: (due: number, run: () => void) => () => void;
  /** When the first one is due; undefined where there is none. */
  readonly firstDue: () => number | undefined;
  /** Takes all that are due at `time`, and runs those that none before them removed. */
  readonly runDue: (time: number) => void;
}

interface Timer {
  readonly due: number;
  readonly sequence: number;
  readonly run: () => void;
  isRemoved: boolean;
}

/** Makes a queue. A sorted list: nearly all timers are added, and removed again, at its end. */
export function createTimeQueue(): TimeQueue {
  const timers: Timer[] = [];
  let added = 0;

  /** The place of the first timer that comes after this moment and this sequence. */
  const placeAfter = (due: number, sequence: number): number => {
    let low = 0;
    let high = timers.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const timer = timers[middle];
      if (timer === undefined || isAfter(timer, due, sequence)) high = middle;
      else low = middle + 1;
    }
    return low;
  };

  return {
    add(due, run) {
      const timer: Timer = { due, sequence: added++, run, isRemoved: false };
      timers.splice(placeAfter(due, timer.sequence), 0, timer);
      return () => {
        timer.isRemoved = true;
        const place = placeAfter(due, timer.sequence) - 1;
        if (timers[place] === timer) timers.splice(place, 1);
      };
    },

    firstDue: () => timers[0]?.due,

    runDue(time) {
      // Taken first: a timer of no length that is added by one of them waits for the next turn.
      for (const timer of timers.splice(0, placeAfter(time, added))) {
        if (!timer.isRemoved) timer.run();
      }
    },
  };
}

function isAfter(timer: Timer, due: number, sequence: number): boolean {
  return timer.due === due ? timer.sequence > sequence : timer.due > due;
}
