/**
 * Calls `look` at once and then again, a pause after each end, until `stopping` aborts; resolves when the
 * last one has settled. Never rejects: `look` reports its own failures.
 */
export async function repeat(
  look: () => Promise<void>,
  pauseMs: number,
  stopping: AbortSignal,
): Promise<void> {
  const isStopped = () => stopping.aborted;
  while (!isStopped()) {
    await look();
    if (!isStopped()) await pause(pauseMs, stopping);
  }
}

/** Waits, but no longer than until `signal` aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });
}
