import { AsyncLocalStorage } from "node:async_hooks";
import { integerOption } from "../../integer-option.js";
import { refuseUnknownOptions } from "../../known-options.js";
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

/** A piece of work that is held. */
interface Work {
  readonly clock: object;
  /** How many sleeps of its own it waits for. */
  sleeps: number;
  hasEnded: boolean;
}

/** When time goes on although a request is awake: it seems to wait for another one that is asleep. */
const STALL_MS = 1_000;

/** One for all clocks: Node visits every storage at each promise. */
const currentWork = new AsyncLocalStorage<Work>();

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
 * `clock.sleep`; where it waits for another request that sleeps, time goes on after a second. Other
 * code has only as long as its promises take, unless it runs in `clock.hold`.
 *
 * @throws ConfigurationError for an option that is unknown or cannot work.
 */
export function createVirtualClock(options: VirtualClockOptions = {}): VirtualClock {
  refuseUnknownOptions(options, ["startMs"]);
  let time = integerOption("startMs", options.startMs, {
    fallback: 1_760_000_000_000,
    min: 0,
    max: 10_000_000_000_000,
  });
  const clock = {};
  const timers = createTimeQueue();
  let awake = 0;
  let asleep = 0;
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
    if (awake > 0) {
      if (asleep > 0) stallTimer = setTimeout(jump, STALL_MS);
      return;
    }
    if (isJumpPlanned || timers.firstDue() === undefined) return;
    isJumpPlanned = true;
    // A turn of the event loop, so that all promises that can settle have done so before.
    setImmediate(() => {
      isJumpPlanned = false;
      if (awake === 0) jump();
    });
  };

  const startTimer: TwinClock["startTimer"] = (ms, run) => {
    if (!Number.isFinite(ms)) throw new RangeError("ms has to be a finite number of milliseconds");
    const remove = timers.add(time + Math.max(ms, 0), run);
    planJump();
    return remove;
  };

  const fallAsleep = (work: Work): void => {
    work.sleeps++;
    if (work.sleeps > 1) return;
    awake--;
    asleep++;
  };

  const wakeUp = (work: Work): void => {
    work.sleeps--;
    if (work.sleeps > 0 || work.hasEnded) return;
    asleep--;
    awake++;
  };

  const end = (work: Work): void => {
    work.hasEnded = true;
    // It may leave sleeps behind, as Promise.race does.
    if (work.sleeps > 0) asleep--;
    else awake--;
    planJump();
  };

  return {
    now: () => time,
    startTimer,

    sleep(ms) {
      const work = currentWork.getStore();
      if (work?.clock !== clock || work.hasEnded) {
        return new Promise((resolve) => {
          startTimer(ms, resolve);
        });
      }
      return new Promise((resolve) => {
        startTimer(ms, () => {
          wakeUp(work);
          resolve();
        });
        fallAsleep(work);
        planJump();
      });
    },

    async hold(work) {
      const held: Work = { clock, sleeps: 0, hasEnded: false };
      awake++;
      planJump();
      try {
        return await currentWork.run(held, work);
      } finally {
        end(held);
      }
    },
  };
}
