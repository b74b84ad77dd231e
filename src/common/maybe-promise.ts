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
 * A value, or a promise of it that this library made. `"then" in` tells them apart, written out where
 * it is asked: in a function that all ask, it is looked for in objects of all shapes, which took 1 % of
 * a delivery. Not by a member of the value, which a polluted prototype gives to the promise too.
 */
export type MaybeLater<T> = T | Promise<T>;
