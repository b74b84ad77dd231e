import type { Ending } from "../answer/report.js";

const MIN_DELAY_MS = 10_000;
const MAX_DELAY_MS = 40_000;

/**
 * The end of a delivery that finds `maxConcurrentDeliveries` handlers running. The delay is spread by the
 * id (FNV-1a): what was refused at once would otherwise come again at once.
 */
export function overloaded(id: string): Ending {
  let hash = 0x811c9dc5;
  for (let at = 0; at < id.length; at++) {
    hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193);
  }
  const retryAfterMs = MIN_DELAY_MS + ((hash >>> 0) % (MAX_DELAY_MS - MIN_DELAY_MS + 1));
  return { outcome: "overloaded", retryAfterMs };
}
