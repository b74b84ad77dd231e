import { isPromise } from "./maybe-promise.js";

/** Calls a partner's code that has no say in the answer: nothing that it throws or rejects with gets out. */
export function guarded(call: () => unknown): void {
  try {
    const returned = call();
    if (isPromise(returned)) returned.then(undefined, () => undefined);
  } catch {
    // There is nobody else to tell.
  }
}
