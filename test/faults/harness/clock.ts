/**
 * Milliseconds of the machine's monotonic clock, which all processes on it share: the order of what
 * different processes write down. Wall clocks will not do, as some of the receivers' are an hour off.
 */
export function now(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}
