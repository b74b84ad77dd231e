/** Resolves after `ms` milliseconds, or as soon as `signal` aborts. Never rejects. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
  });
}

/**
 * Calls `work` at once, and again `intervalMs` after each call has settled, until `signal` aborts.
 * Resolves when the last call has settled. `work` must not reject.
 */
export async function repeat(
  work: () => Promise<void>,
  intervalMs: number,
  signal: AbortSignal,
): Promise<void> {
  const isStopped = () => signal.aborted;
  while (!isStopped()) {
    await work();
    if (!isStopped()) await pause(intervalMs, signal);
  }
}
