import type { History } from "./history.js";

/** Time of the first 2xx answer of each delivery. */
export function firstAcknowledgements({ answers }: History): ReadonlyMap<string, number> {
  const first = new Map<string, number>();
  for (const { id, status, at } of answers) {
    if (status < 200 || status > 299) continue;
    first.set(id, Math.min(first.get(id) ?? Infinity, at));
  }
  return first;
}

/**
 * The deliveries whose first 2xx answer came while the store was confirming what it has lost since, and that are not
 * in the store. A standby that takes over without the last writes explains that they have no effect. It explains
 * nothing in lease mode, where the effect is outside of the store.
 */
export function findForgotten(history: History): ReadonlySet<string> {
  const { guarantee, interruptions, storedIds } = history;
  if (guarantee === "lease") return new Set();
  const stored = new Set(storedIds);
  const times = interruptions.filter(({ kind }) => kind === "forgot");
  const forgotten = [...firstAcknowledgements(history)].filter(
    ([id, at]) => !stored.has(id) && times.some(({ from, to }) => at >= from && at <= to),
  );
  return new Set(forgotten.map(([id]) => id));
}

/** How many processes each delivery has killed, for those that have killed any. */
export function countCrashes({ lines }: History): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const line of lines) {
    if (line.kind === "crash") counts.set(line.id, (counts.get(line.id) ?? 0) + 1);
  }
  return counts;
}
