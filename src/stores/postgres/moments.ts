// Each statement asks the server's clock where it needs it: now() is the start of the transaction, which
// lies behind where the statement waited for a row or a handler ran before it.

/** The end of so many milliseconds from now, for a parameter such as `$3`. */
export function fromNow(parameter: string): string {
  // A century is for ever here, and more than 250 000 years would not fit a timestamptz.
  return `clock_timestamp() + least(${parameter}::float8, 3155760000000) * interval '1 millisecond'`;
}

/** How many milliseconds of the lease in `lease_until` are left, and at least 1. */
export const LEASE_LEFT_MS =
  "greatest(1, ceil(extract(epoch FROM lease_until - clock_timestamp()) * 1000))::float8";
