import { pause } from "../common/timers.js";

const MAX_ATTEMPTS = 12;

/**
 * Runs `attempt` again after an error that `mayRetry` accepts, such as a deadlock, and if it resolves to
 * undefined because it was overtaken by a concurrent change. Both end when the other transaction has
 * ended. Gives up after 12 attempts with at most half a second of waiting in total, and rejects.
 */
export async function retryConflicts<T>(
  attempt: () => Promise<T | undefined>,
  mayRetry: (error: unknown) => boolean,
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
