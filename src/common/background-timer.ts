/**
 * A timer that does not keep the process alive: what it does matters only while something else runs.
 * Returns how to stop it.
 */
export function startBackgroundTimer(ms: number, run: () => void): () => void {
  const timer: unknown = setTimeout(run, ms);
  // Outside Node a timer is a number, and nothing keeps a process alive.
  if (typeof timer === "object" && timer !== null && "unref" in timer) {
    (timer as { unref(): void }).unref();
  }
  return () => {
    clearTimeout(timer as ReturnType<typeof setTimeout>);
  };
}
