/** A value, or a promise of it. A plain value is the faster one: nothing is awaited for it. */
export type MaybePromise<T> = T | PromiseLike<T>;

/** Whether `value` has to be awaited. Thenables count, since partners bring their own promise libraries. */
export function isPromise<T>(value: MaybePromise<T>): value is PromiseLike<T> {
  return (
    ((typeof value === "object" && value !== null) || typeof value === "function") &&
    typeof (value as Partial<PromiseLike<T>>).then === "function"
  );
}

/**
 * A value, or a promise of it that this library made. Which one it is, a member of the value tells: a
 * `then` would be looked for in objects of many shapes, and that took 1 % of a delivery.
 */
export type MaybeLater<T> = T | Promise<T>;
