import { DeadlineError, within } from "../../src/common/timers.js";
import type { HostDeadline } from "../../src/delivery/request.js";

/** What is read of the `context` of an invocation. */
export interface LambdaContext {
  /** Milliseconds until the function's time-out, when Lambda ends the process. */
  readonly getRemainingTimeInMillis: () => number;
}

/** The longest time-out of a function. Used without a context, as in a call of one's own. */
const LONGEST_MS = 900_000;
/** How long writes that go on after the answer are waited for. A late 200 would reach no one. */
const MAX_WAIT_MS = 5_000;

/** The deadline of an invocation. Its times are by `performance.now()`. */
export class InvocationDeadline implements HostDeadline {
  readonly handlerUntil: number;
  /** Half of the margin is for store calls that are on their way. */
  readonly storeUntil: number;
  /** The function must return by then, whatever still runs. */
  readonly returnBy: number;

  constructor(context: Partial<LambdaContext> | undefined, marginMs: number) {
    const leftMs = remainingMs(context);
    const endsAt = performance.now() + leftMs;
    // A larger margin would give the handler less time than the answer.
    const margin = Math.min(marginMs, leftMs / 2);
    this.handlerUntil = endsAt - margin;
    this.storeUntil = endsAt - margin / 2;
    this.returnBy = endsAt - margin / 4;
  }

  handlerMs(ms: number): number {
    return Math.max(0, Math.min(ms, Math.ceil(this.handlerUntil - performance.now())));
  }

  /** A process that was frozen goes on after the deadline; then the call has all of its time. */
  storeMs(ms: number): number {
    const leftMs = this.storeUntil - performance.now();
    return leftMs > 0 ? Math.min(ms, leftMs) : ms;
  }
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
    // A failure has been reported where it happened. Here it would fail the invocation.
    const settled = work.then(ignore, ignore).then(() => {
      this.#open.delete(settled);
    });
    this.#open.add(settled);
  };

  /** Resolves when nothing is open any more, after 5 s, or at the deadline. */
  async end({ handlerUntil, storeUntil }: InvocationDeadline): Promise<void> {
    const now = performance.now();
    // One turn, so that a handler that succeeds as soon as its signal aborts can be remembered.
    if (now >= handlerUntil) await nextTurn();
    if (this.#open.size > 0) await inTime(this.#allDone(), Math.min(storeUntil, now + MAX_WAIT_MS));
  }

  async #allDone(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open);
  }
}

function ignore(): void {
  // Only the end counts.
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
