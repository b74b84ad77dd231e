/** Options of `drain`. */
export interface DrainOptions {
  /**
   * How long to wait at most. Milliseconds; default: until all have settled, which `handlerMaxMs`
   * bounds. A value that is no number counts as left out.
   */
  timeoutMs?: number | undefined;
}

/** How `drain` ended. */
export interface DrainResult {
  /** Whether all deliveries have settled. */
  readonly idle: boolean;
  /** How many have not. Each is handled again after its lease has ended, or was rolled back. */
  readonly running: number;
}

/** The time that `drain` may take. Never throws for a usual value, as a shutdown goes on without it. */
export function drainTimeoutOf(options: DrainOptions | null | undefined): number {
  const timeoutMs: unknown = options?.timeoutMs;
  return typeof timeoutMs === "number" && !Number.isNaN(timeoutMs) ? timeoutMs : Infinity;
}
