import { pause } from "../../common/timers.js";

const ATTEMPTS = 12;

/**
 * Asks until there is an answer: again after a serialization failure or a deadlock, and where `ask`
 * resolves to undefined because a concurrent change had overtaken its snapshot. Both are over as soon as
 * the other one has committed. `mayTryAgain` may know more such errors. Gives up after 12 attempts, which takes half a second at most.
 */
export async function settled<T>(
  ask: () => Promise<T | undefined>,
  mayTryAgain: (error: unknown) => boolean = isSerializationFailure,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const answer = await ask();
      if (answer !== undefined) return answer;
    } catch (error) {
      if (attempt === ATTEMPTS || !mayTryAgain(error)) throw error;
    }
    if (attempt === ATTEMPTS) throw new Error(`overtaken by other changes ${ATTEMPTS} times`);
    // At random, so that those who met do not meet again.
    await pause(Math.random() * Math.min(2 ** attempt, 64));
  }
}

/** `serialization_failure` and `deadlock_detected`: the server has rolled back, and says to try again. */
export function isSerializationFailure(error: unknown): boolean {
  if (typeof error !== "object" || error === null || !("code" in error)) return false;
  return error.code === "40001" || error.code === "40P01";
}
