import { GatewayWebhookError, brandErrors } from "./errors.js";

/** The longest delay of a timer, in milliseconds: `setTimeout` fires at once for a longer one. */
export const MAX_TIMER_MS = 2_147_483_647;

/**
 * A handler, a store call, the secret function or another call took longer than its limit. The message
 * names the call and the limit.
 */
export class DeadlineError extends GatewayWebhookError<"deadline_exceeded"> {
  static {
    brandErrors(this, "DeadlineError");
  }

  constructor(what: string, ms: number) {
    super("deadline_exceeded", `${what} took longer than ${String(ms)} ms`);
  }
}

/**
 * Waits for `work` for at most `ms` milliseconds, then rejects with a `DeadlineError` that names `what`.
 * A value that arrives later goes to `onLate`; a later error is dropped, since the caller has already
 * been answered.
 */
export function within<T>(
  ms: number,
  what: string,
  work: PromiseLike<T>,
  onLate?: (value: T) => void,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      reject(new DeadlineError(what, ms));
    }, ms);
    // As a native promise: the `then` of a foreign thenable may throw and leave the timer running.
    Promise.resolve(work).then(
      (value) => {
        if (late) return onLate?.(value);
        clearTimeout(timer);
        resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}

const hostSetTimeout = globalThis.setTimeout;

/**
 * A timer that is nearly always stopped long before it ends. Node keeps a list for each length of timers, and to make
 * and drop a list takes three times as long as to use one. So the first one that is stopped stays where it is until its
 * time is over: without its work, and without keeping the process alive.
 */
export class ShortTimer {
  static #isOneKept = false;
  readonly #timer: ReturnType<typeof setTimeout>;
  #run: (() => void) | undefined;

  constructor(ms: number, run: () => void) {
    this.#run = run;
    this.#timer = setTimeout(() => this.#end(), ms);
  }

  #end(): void {
    if (this.#run === undefined) ShortTimer.#isOneKept = false;
    else this.#run();
  }

  stop(): void {
    this.#run = undefined;
    // A test with timers of its own counts those that are left. On Workers a timer belongs to a request.
    const isKept = !ShortTimer.#isOneKept && setTimeout === hostSetTimeout && unref(this.#timer);
    if (isKept) ShortTimer.#isOneKept = true;
    else clearTimeout(this.#timer);
  }
}

/** Starts a timer. Returns a function that stops it. */
export function startTimer(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}

/**
 * Starts a timer that does not keep the process alive: its work matters only while something else runs.
 * Returns a function that stops it.
 */
export function startBackgroundTimer(ms: number, run: () => void): () => void {
  const timer: unknown = setTimeout(run, ms);
  unref(timer);
  return () => clearTimeout(timer as ReturnType<typeof setTimeout>);
}

/** Lets the process end before the timer. Returns false outside Node, where a timer is a number and keeps no process alive. */
function unref(timer: unknown): boolean {
  if (typeof timer !== "object" || timer === null || !("unref" in timer)) return false;
  (timer as { unref(): void }).unref();
  return true;
}

/** Resolves after `ms` milliseconds, or as soon as `signal` aborts. Never rejects. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
  });
}
