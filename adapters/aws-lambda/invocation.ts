import { DeadlineError, within } from "../../src/common/timers.js";
import type { HostDeadline } from "../../src/delivery/host-deadline.js";

/** What is read of the `context` of an invocation. */
export interface LambdaContext {
  /** Milliseconds until the function's time-out, when Lambda ends the process. */
  readonly getRemainingTimeInMillis: () => number;
}

/** The longest time-out of a function. Used without a context, as in a call of one's own. */
const LONGEST_MS = 900_000;
/** How long writes that go on after the answer are waited for. A late 200 would reach no one. */
const MAX_WAIT_MS = 5_000;

/** The deadline of an invocation, by `performance.now()`. */
export interface InvocationDeadline extends HostDeadline {
  /** The function must return by then, whatever still runs. Later than `storeUntil`. */
  readonly returnBy: number;
}

/**
 * The deadline of an invocation. Half of the margin is for store calls that are on their way. A margin of
 * more than half of the time that is left would give the handler less time than the answer.
 */
export function deadlineOf(
  context: Partial<LambdaContext> | undefined,
  marginMs: number,
): InvocationDeadline {
  const leftMs = remainingMs(context);
  const endsAt = performance.now() + leftMs;
  const margin = Math.min(marginMs, leftMs / 2);
  return {
    handlerUntil: endsAt - margin,
    storeUntil: endsAt - margin / 2,
    returnBy: endsAt - margin / 4,
  };
}

function remainingMs(context: Partial<LambdaContext> | undefined): number {
  const remaining: unknown = context?.getRemainingTimeInMillis?.();
  const isNumber = typeof remaining === "number" && Number.isFinite(remaining);
  return isNumber ? Math.min(Math.max(remaining, 0), LONGEST_MS) : LONGEST_MS;
}

/** The value of `work`, or undefined if it takes until `until`, by `performance.now()`. */
export async function inTime<Value>(
  work: Promise<Value>,
  until: number,
): Promise<Value | undefined> {
  try {
    return await within(Math.max(0, until - performance.now()), "the invocation", work);
  } catch (error) {
    if (error instanceof DeadlineError) return undefined;
    throw error;
  }
}

/** What goes on after the answer: passed to `waitUntil`, and waited for before the function returns. */
export class OpenWork {
  readonly #open = new Set<Promise<unknown>>();

  readonly add = (work: Promise<unknown>): void => {
    this.#open.add(work);
    void work.finally(() => this.#open.delete(work));
  };

  /** Resolves when nothing is open any more, after 5 s, or at the deadline. */
  async end({ handlerUntil, storeUntil }: HostDeadline): Promise<void> {
    const now = performance.now();
    // One turn, so that a handler that succeeds as soon as its signal aborts can be remembered.
    if (now >= handlerUntil) await nextTurn();
    if (this.#open.size > 0) await inTime(this.#allDone(), Math.min(storeUntil, now + MAX_WAIT_MS));
  }

  async #allDone(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open);
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
