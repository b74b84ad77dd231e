import { pause } from "../../common/timers.js";
import { isSerializationFailure } from "./errors.js";

const MAX_ATTEMPTS = 12;

/**
 * Runs `attempt` again after a serialization failure or a deadlock, and if it resolves to undefined
 * because a concurrent change was not in its snapshot. Both end when the other transaction has committed.
 * `mayRetry` decides which errors are retried; the default is those two. Gives up after 12 attempts with
 * at most half a second of waiting in total, and rejects.
 */
export async function retrySerializationFailures<T>(
  attempt: () => Promise<T | undefined>,
  mayRetry: (error: unknown) => boolean = isSerializationFailure,
): Promise<T> {
  for (let count = 1; ; count += 1) {
    try {
      const result = await attempt();
      if (result !== undefined) return result;
    } catch (error) {
      if (count === MAX_ATTEMPTS || !mayRetry(error)) throw error;
    }
    if (count === MAX_ATTEMPTS) throw new Error(`overtaken by other changes ${count} times`);
    // A random delay, so that two calls that collided do not collide again.
    await pause(Math.random() * Math.min(2 ** count, 64));
  }
}
