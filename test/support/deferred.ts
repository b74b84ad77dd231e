/** A promise that can be settled from outside. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
}

/** Makes a promise that the test settles. */
export function deferred<T = void>(): Deferred<T> {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  return { promise, resolve, reject };
}

/** Watches whether a promise has resolved. */
export function watched(promise: Promise<unknown>) {
  const state = { isResolved: false };
  const done = promise.then(() => {
    state.isResolved = true;
  });
  return { state, done };
}

const hanging = new Set<() => void>();

/** A promise that does not settle before the end of the test file: a dependency that hangs. */
export function never<T = never>(): Promise<T> {
  return new Promise((resolve) => {
    hanging.add(resolve as () => void);
  });
}

/** Settles them, so that no lease is renewed for ever beside the next file of the process. */
export function endHanging(): void {
  for (const resolve of hanging) resolve();
  hanging.clear();
}
