/** A value, or a promise of it. The plain value is faster: the library does not await it. */
export type MaybePromise<T> = T | PromiseLike<T>;

/**
 * A value, or a promise of it that this library made. Callers test `"then" in value` themselves: a shared
 * helper sees objects of every shape, which cost 1 % of a delivery. Never test for a member of the value
 * instead: a polluted `Object.prototype` gives that member to the promise too.
 */
export type ValueOrPromise<T> = T | Promise<T>;

/** Whether `value` must be awaited. Thenables count, since users bring their own promise libraries. */
export function isPromise<T>(value: MaybePromise<T>): value is PromiseLike<T> {
  return (
    ((typeof value === "object" && value !== null) || typeof value === "function") &&
    typeof (value as Partial<PromiseLike<T>>).then === "function"
  );
}

const ignore = (): void => undefined;

/**
 * Calls user code that must not affect the answer, such as a logger or an observer. Its errors and
 * rejections are dropped. Returns a promise that resolves when the call has ended and never rejects, or
 * undefined if the call returned no promise.
 */
export function ignoreFailure(call: () => unknown): Promise<void> | undefined {
  try {
    const returned = call();
    return isPromise(returned) ? Promise.resolve(returned).then(ignore, ignore) : undefined;
  } catch {
    return undefined;
  }
}
