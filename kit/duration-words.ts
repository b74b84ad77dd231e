/** Units of time: length in seconds, and how many make one of the next larger unit. */
const UNITS: readonly (readonly [one: string, many: string, seconds: number, limit: number])[] = [
  ["day", "days", 86_400, Number.POSITIVE_INFINITY],
  ["h", "h", 3_600, 24],
  ["min", "min", 60, 60],
  ["s", "s", 1, 60],
];

/** A duration in its two largest units, without its sign: "12 min 40 s". */
export function inWords(durationMs: number): string {
  const seconds = Math.round(Math.abs(durationMs) / 1_000);
  if (seconds === 0) return `${Math.round(Math.abs(durationMs))} ms`;
  const largest = UNITS.findIndex(([, , size]) => seconds >= size);
  const parts = UNITS.slice(largest, largest + 2).map(([one, many, size, limit]) => {
    const count = Math.floor(seconds / size) % limit;
    return count === 0 ? "" : `${count} ${count === 1 ? one : many}`;
  });
  return parts.filter((part) => part !== "").join(" ");
}
