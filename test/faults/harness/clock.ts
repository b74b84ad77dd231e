/**
 * Milliseconds of the machine's monotonic clock. All processes share it, so it orders their records. The wall
 * clock does not work here, because some receivers have one that is an hour off.
 */
export function now(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}
