import type { Ending } from "../answer/trace.js";
import type { ValueOrPromise } from "../common/promises.js";
import type { HostDeadline } from "../delivery/request.js";
import type { Unfinished } from "./claim.js";
import type { Claims } from "./claims.js";
import type { HandlerResult } from "./run-handler.js";

/** Whether the delivery needs no further attempt. */
export function isDone({ outcome }: HandlerResult): boolean {
  return outcome === "handled" || outcome === "discarded";
}

/**
 * Completes the claim of a success, and releases that of a failure for the next attempt. Neither throws nor
 * rejects.
 */
export function settleClaim(
  claims: Claims,
  id: string,
  owner: string,
  result: HandlerResult,
  deadline: HostDeadline | undefined,
): ValueOrPromise<Ending> {
  if (!isDone(result)) {
    const released = claims.release(id, owner);
    return released === undefined ? result : released.then(() => result);
  }
  const completed = claims.complete(id, owner, deadline);
  if (completed === undefined) return result;
  return "then" in completed ? endingAfter(completed, result) : endingOf(result, completed);
}

/** The result as an ending, with what the store has not taken yet. */
function endingOf(result: HandlerResult, unfinished: Unfinished | undefined): Ending {
  return unfinished === undefined ? result : { ...result, unfinished: unfinished.work };
}

function endingAfter(
  completed: Promise<Unfinished | undefined>,
  result: HandlerResult,
): Promise<Ending> {
  return completed.then((unfinished) => endingOf(result, unfinished));
}
