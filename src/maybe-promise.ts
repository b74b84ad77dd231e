/** A value, or a promise of it. A plain value is the faster one: nothing is awaited for it. */
export type MaybePromise<T> = T | PromiseLike<T>;

/** Whether `value` has to be awaited. Thenables count, since partners bring their own promise libraries. */
export function isPromise<T>(value: MaybePromise<T>): value is PromiseLike<T> {
  return (
    ((typeof value === "object" && value !== null) || typeof value === "function") &&
    typeof (value as Partial<PromiseLike<T>>).then === "function"
  );
}
