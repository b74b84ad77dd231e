/** `count` keys in descending order, at most 800. */
export function keysOf(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${name}-${String(999 - index)}`);
}
