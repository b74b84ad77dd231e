/** Something did not finish in time. */
export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
  /** Stable, so that code can branch on it. */
  readonly code = "deadline_exceeded";

  constructor(what: string, ms: number) {
    super(`${what} took longer than ${String(ms)} ms`);
  }
}

/**
 * Waits for `work`, but `ms` milliseconds at most; then it rejects with a `DeadlineError` that names
 * `what`. A value that comes later is given to `onLate`, a later error is dropped: the one who waited
 * has been answered.
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
    // Through a promise: the `then` of a foreign thenable may throw, and leave the timer running.
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
