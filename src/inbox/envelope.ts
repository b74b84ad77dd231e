// What a message has beside its job: anyone who can write to the queue can set these numbers and names.

const DIGITS = /^[0-9]{1,16}$/;
/** More attempts, failed runs or crashes than any job has. */
const MAX_COUNT = 1_000_000;
/** The longest delay of a run: a day. */
export const MAX_DELAY_MS = 86_400_000;
/** The last moment of a `Date`. */
const MAX_TIME_MS = 8_640_000_000_000_000;

/** A whole number of at most `max`, or its digits where an engine has text only. Undefined for anything else. */
function wholeNumber(value: unknown, max: number): number | undefined {
  const number = typeof value === "string" && DIGITS.test(value) ? Number(value) : value;
  const isWhole = typeof number === "number" && Number.isInteger(number);
  return isWhole && number >= 0 && number <= max ? number : undefined;
}

/** How often something happened. 0 for anything that cannot be such a count. */
export function countOf(value: unknown): number {
  return wholeNumber(value, MAX_COUNT) ?? 0;
}

/** The number of an attempt. 1 for anything that cannot be one, so that such a job has all its attempts. */
export function attemptOf(value: unknown): number {
  return Math.max(1, countOf(value));
}

/** A delay in milliseconds. 0 for anything that cannot be one. */
export function delayOf(value: unknown): number {
  return wholeNumber(value, MAX_DELAY_MS) ?? 0;
}

/** A time in Unix milliseconds. Undefined for anything that cannot be one. */
export function timeOf(value: unknown): number | undefined {
  return wholeNumber(value, MAX_TIME_MS);
}
