import { AsyncLocalStorage } from "node:async_hooks";
import { integerOption, ownOptions } from "../../src/common/option-checks.js";
import type { TwinClock } from "./twin-clock.js";

/**
 * Options of `createVirtualClock`.
 *
 * @experimental
 */
export interface VirtualClockOptions {
  /**
   * The time at which the clock starts: Unix time in milliseconds, from 0 to 10 000 000 000 000. Default
   * 1 760 000 000 000, always the same, so that a run can be repeated.
   */
  readonly startMs?: number | undefined;
}

/**
 * A clock whose time jumps to the next timer.
 *
 * @experimental
 */
export interface VirtualClock extends TwinClock {
  /** Pauses the clock while `work` runs, except while `work` sleeps on this clock. */
  readonly hold: <T>(work: () => Promise<T>) => Promise<T>;
}

/** After this long the clock goes on although work is awake: the work probably waits for a timer. */
const STALL_MS = 1_000;

/** One storage for all clocks, since Node visits every storage at each promise. */
const currentWork = new AsyncLocalStorage<TrackedWork>();

/**
 * A clock that runs a retry schedule of 36 hours in milliseconds. When nothing is left to do at the current
 * time, it jumps to the next timer. Give it to the twin and to the receiver, so that both compare timestamps
 * with the same time.
 *
 * These run in virtual time: `now`, the gaps between attempts, the time-out of a request, and
 * `clock.sleep`, which makes a handler slow. The receiver's own timers stay in real time: `handlerTimeoutMs`,
 * `dependencyTimeoutMs` and the renewal of leases. If handlers sleep on this clock for as long as a lease,
 * leave the store on its own clock, or the lease ends before it is renewed.
 *
 * The clock is paused while a request is in flight, whatever the request does (network, files, a database),
 * except while its handler sleeps on this clock. So:
 *
 * - A handler that waits for virtual time must use `clock.sleep`.
 * - A handler that waits for a timer of its own, for another request that sleeps, or for another twin's gaps
 *   on this clock is recognised after one real second, and the clock goes on. This costs a real second
 *   for each gap.
 * - A handler that waits for something that other code does at a virtual time is not recognised: the clock
 *   is paused until the request's time-out in real time. Run that code in `clock.hold`, and the clock goes on
 *   after one second.
 * - A sleep lasts from its call to its end, awaited or not. A handler that starts one and does other work
 *   meanwhile counts as asleep: in a `Promise.race` of a sleep and real I/O the sleep wins.
 *
 * Code outside a request gets only the time that its promises take, unless it runs in `clock.hold`.
 *
 * @example
 * const clock = createVirtualClock();
 * const receiver = createWebhookReceiver({
 *   secret, handlers, now: clock.now, store: memoryStore({ now: clock.now }),
 * });
 * const twin = createGatewayTwin({ target: receiver, secret, clock });
 *
 * @throws ConfigurationError for an unknown or invalid option.
 * @experimental
 */
export function createVirtualClock(options: VirtualClockOptions = {}): VirtualClock {
  const { startMs } = ownOptions("createVirtualClock", options, ["startMs"]);
  let time = integerOption("startMs", startMs, {
    fallback: 1_760_000_000_000,
    min: 0,
    max: 10_000_000_000_000,
  });
  const clock = {};
  const timers = new TimerQueue();
  const tracker = new WorkTracker();
  let isJumpPlanned = false;
  let stallTimer: ReturnType<typeof setTimeout> | undefined;

  const jump = (): void => {
    const due = timers.firstDue();
    if (due === undefined) return;
    time = due;
    timers.runDue(due);
    planJump();
  };

  /** Called whenever something changes that the clock waits for. */
  const planJump = (): void => {
    clearTimeout(stallTimer);
    if (tracker.hasAwake) {
      if (tracker.hasWaiting) stallTimer = setTimeout(jump, STALL_MS);
      return;
    }
    if (isJumpPlanned || timers.firstDue() === undefined) return;
    isJumpPlanned = true;
    // One turn of the event loop later, so that all promises that can settle have settled.
    setImmediate(() => {
      isJumpPlanned = false;
      if (!tracker.hasAwake) jump();
    });
  };

  /** The work of this clock from which the current code runs. */
  const caller = (): TrackedWork | undefined => {
    const work = currentWork.getStore();
    return work?.clock === clock && !work.hasEnded ? work : undefined;
  };

  const addTimer = (ms: number, run: () => void): (() => void) => {
    if (!Number.isFinite(ms)) throw new RangeError("ms must be a finite number of milliseconds");
    return timers.add(time + Math.max(ms, 0), run);
  };

  const startTimer: TwinClock["startTimer"] = (ms, run) => {
    const work = caller();
    let isOver = false;
    const finish = (): void => {
      if (isOver || work === undefined) return;
      isOver = true;
      tracker.change(work, (one) => one.timers--);
    };
    const remove = addTimer(ms, () => {
      finish();
      run();
    });
    if (work !== undefined) tracker.change(work, (one) => one.timers++);
    planJump();
    return () => {
      remove();
      finish();
      planJump();
    };
  };

  return {
    now: () => time,
    startTimer,

    sleep(ms) {
      const work = caller();
      return new Promise((resolve) => {
        if (work === undefined) {
          startTimer(ms, resolve);
          return;
        }
        addTimer(ms, () => {
          tracker.change(work, (one) => one.sleeps--);
          resolve();
        });
        tracker.change(work, (one) => one.sleeps++);
        planJump();
      });
    },

    async hold(work) {
      const parent = caller();
      if (parent !== undefined) tracker.change(parent, (one) => one.parts++);
      const own = tracker.begin(clock);
      planJump();
      try {
        return await currentWork.run(own, work);
      } finally {
        tracker.change(own, (one) => (one.hasEnded = true));
        if (parent !== undefined) tracker.change(parent, (one) => one.parts--);
        planJump();
      }
    },
  };
}

interface Timer {
  readonly due: number;
  readonly sequence: number;
  readonly run: () => void;
  isRemoved: boolean;
}

/**
 * Timers in the order in which they are due. Timers that are due at the same time keep the order in which
 * they were added. A sorted array: nearly all timers are added and removed at its end.
 */
class TimerQueue {
  readonly #timers: Timer[] = [];
  #added = 0;

  /** Adds a timer. Returns a function that removes it. */
  add(due: number, run: () => void): () => void {
    const timer: Timer = { due, sequence: this.#added++, run, isRemoved: false };
    this.#timers.splice(this.#indexAfter(due, timer.sequence), 0, timer);
    return () => {
      timer.isRemoved = true;
      const index = this.#indexAfter(due, timer.sequence) - 1;
      if (this.#timers[index] === timer) this.#timers.splice(index, 1);
    };
  }

  /** When the first timer is due. Undefined when there is no timer. */
  firstDue(): number | undefined {
    return this.#timers[0]?.due;
  }

  /** Takes all timers that are due at `time` out of the queue and runs them. */
  runDue(time: number): void {
    // All are taken out first: a timer of 0 ms that one of them adds waits for the next call.
    for (const timer of this.#timers.splice(0, this.#indexAfter(time, this.#added))) {
      // One of those before it may have removed it.
      if (!timer.isRemoved) timer.run();
    }
  }

  /** Index of the first timer that comes after this due time and sequence. */
  #indexAfter(due: number, sequence: number): number {
    let low = 0;
    let high = this.#timers.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const timer = this.#timers[middle];
      if (timer === undefined || isAfter(timer, due, sequence)) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

function isAfter(timer: Timer, due: number, sequence: number): boolean {
  return timer.due === due ? timer.sequence > sequence : timer.due > due;
}

/** A piece of work during which a virtual clock is paused. */
interface TrackedWork {
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
class WorkTracker {
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
