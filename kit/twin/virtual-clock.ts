import { AsyncLocalStorage } from "node:async_hooks";
import { integerOption, ownOptions } from "../../src/common/option-checks.js";
import { TimerQueue } from "./timer-queue.js";
import { WorkTracker, type TrackedWork } from "./tracked-work.js";
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
