/** The middle value, or the mean of the two middle values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.ceil(sorted.length / 2) - 1];
  if (upper === undefined || lower === undefined) throw new Error("the median of no values");
  return (lower + upper) / 2;
}

/** A copy in random order. In a fixed order a case would always run after the same other case. */
export function shuffled<T>(items: readonly T[]): T[] {
  const rest = [...items];
  const result: T[] = [];
  while (rest.length > 0) {
    result.push(...rest.splice(Math.floor(Math.random() * rest.length), 1));
  }
  return result;
}
