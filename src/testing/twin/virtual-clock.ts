import { AsyncLocalStorage } from "node:async_hooks";
import { integerOption, ownOptions } from "../../common/option-checks.js";
import { createHeldWorks, type HeldWork } from "./held-work.js";
import { createTimeQueue } from "./time-queue.js";
import type { TwinClock } from "./twin-clock.js";

/** Options of `createVirtualClock`. */
export interface VirtualClockOptions {
  /**
   * Where it begins: Unix time in milliseconds, from 0 to 10 000 000 000 000. Default
   * 1 760 000 000 000, always the same, so that a run can be repeated.
   */
  readonly startMs?: number | undefined;
}

/** A clock whose time jumps. */
export interface VirtualClock extends TwinClock {
  readonly hold: <T>(work: () => Promise<T>) => Promise<T>;
}

/** When time goes on although a request is awake: it seems to wait for a moment to come. */
const STALL_MS = 1_000;

/** One for all clocks: Node visits every storage at each promise. */
const currentWork = new AsyncLocalStorage<HeldWork>();

/**
 * A clock that runs a schedule of 36 hours in milliseconds: whenever nothing is left to do at its
 * time, it jumps to the moment of the next timer. Give it to the twin and to the receiver, so that both
 * judge timestamps by the same time:
 *
 * ```ts
 * const clock = createVirtualClock();
 * const receiver = createWebhookReceiver({
 *   secret, handlers, now: clock.now, store: memoryStore({ now: clock.now }),
 * });
 * const twin = createGatewayTwin({ target: receiver, secret, clock });
 * ```
 *
 * Virtual are: `now`, the waiting between attempts, the time-out of a request, and `clock.sleep`, which
 * handlers may use to be slow. Real are the receiver's own timers: `handlerTimeoutMs`,
 * `dependencyTimeoutMs` and the renewal of leases. Where handlers sleep on this clock for as long as a
 * lease, leave the store on its own clock, or the lease ends unrenewed.
 *
 * Time stands still while a request is in flight, whatever it does (network, files, a database), other
 * than while its handler sleeps here. So a handler that waits for virtual time has to do it by
 * `clock.sleep`. Where it waits for another request that sleeps, or for a timer of its own, such as the
 * gaps of a delivery that another twin makes on this clock, time goes on after a real second, for each
 * gap anew. Where it waits for what other code does at a virtual moment, time stands still until the
 * request's time-out in real time; run that code in `clock.hold`, and it goes on after a second.
 *
 * A sleep counts from its call to its end, awaited or not. A handler that begins one and does other work
 * meanwhile (`Promise.race` against real I/O, a sleep without `await`) is asleep to the clock: the other
 * work takes no virtual time, and in a race with a sleep real I/O loses.
 *
 * Code outside a request has only as long as its promises take, unless it runs in `clock.hold`.
 *
 * @throws ConfigurationError for an option that is unknown or cannot work.
 */
export function createVirtualClock(options: VirtualClockOptions = {}): VirtualClock {
  const own = ownOptions("createVirtualClock", options, ["startMs"]);
  let time = integerOption("startMs", own.startMs, {
    fallback: 1_760_000_000_000,
    min: 0,
    max: 10_000_000_000_000,
  });
  const clock = {};
  const timers = createTimeQueue();
  const works = createHeldWorks();
  let isJumpPlanned = false;
  let stallTimer: ReturnType<typeof setTimeout> | undefined;

  const jump = (): void => {
    const due = timers.firstDue();
    if (due === undefined) return;
    time = due;
    timers.runDue(due);
    planJump();
  };

  /** Called at every change of what time waits for. */
  const planJump = (): void => {
    clearTimeout(stallTimer);
    if (works.areAwake()) {
      if (works.areWaiting()) stallTimer = setTimeout(jump, STALL_MS);
      return;
    }
    if (isJumpPlanned || timers.firstDue() === undefined) return;
    isJumpPlanned = true;
    // A turn of the event loop, so that all promises that can settle have done so before.
    setImmediate(() => {
      isJumpPlanned = false;
      if (!works.areAwake()) jump();
    });
  };

  /** The work of this clock from which it is called. */
  const caller = (): HeldWork | undefined => {
    const work = currentWork.getStore();
    return work?.clock === clock && !work.hasEnded ? work : undefined;
  };

  const addTimer = (ms: number, run: () => void): (() => void) => {
    if (!Number.isFinite(ms)) throw new RangeError("ms has to be a finite number of milliseconds");
    return timers.add(time + Math.max(ms, 0), run);
  };

  const startTimer: TwinClock["startTimer"] = (ms, run) => {
    const work = caller();
    let isOver = false;
    const finish = (): void => {
      if (isOver || work === undefined) return;
      isOver = true;
      works.change(work, (one) => one.timers--);
    };
    const remove = addTimer(ms, () => {
      finish();
      run();
    });
    if (work !== undefined) works.change(work, (one) => one.timers++);
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
          works.change(work, (one) => one.sleeps--);
          resolve();
        });
        works.change(work, (one) => one.sleeps++);
        planJump();
      });
    },

    async hold(work) {
      const whole = caller();
      if (whole !== undefined) works.change(whole, (one) => one.parts++);
      const held = works.begin(clock);
      planJump();
      try {
        return await currentWork.run(held, work);
      } finally {
        works.change(held, (one) => (one.hasEnded = true));
        if (whole !== undefined) works.change(whole, (one) => one.parts--);
        planJump();
      }
    },
  };
}
