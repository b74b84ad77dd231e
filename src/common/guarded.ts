import { isPromise } from "./maybe-promise.js";

const ignore = (): void => undefined;

/**
 * Calls a partner's code that has no say in the answer: nothing that it throws or rejects with gets out.
 * Returns a promise of its end where it returned one, which never rejects.
 */
export function endOf(call: () => unknown): Promise<void> | undefined {
  try {
    const returned = call();
    return isPromise(returned) ? Promise.resolve(returned).then(ignore, ignore) : undefined;
  } catch {
    // There is no one else to report it to.
    return undefined;
  }
}

/** The same where its end does not matter. */
export function guarded(call: () => unknown): void {
  void endOf(call);
}
