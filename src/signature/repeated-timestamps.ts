import { LRUCache } from "lru-cache";
import type { Log } from "../answer/logger.js";

/** Looks at how an authentic request ended. Never throws. */
export type WatchTimestamps = (
  id: string,
  timestampMs: number,
  startedAt: number,
  isHandled: boolean,
) => void;

/** The gateway waits 10 s before its first retry; earlier copies are the network's. */
const MIN_GAP_MS = 8_000;
/** Ids that are remembered. One is enough to notice, and a gateway that repeats does it for all. */
const MAX_IDS = 1_000;

/**
 * Notices that the timestamp of an id is repeated by a later attempt, and says so once. Retries are
 * taken to be signed anew; a gateway that repeats the first timestamp would be refused as stale from
 * `timestampToleranceMs` on. Only ids that were not handled at once are remembered, as the gateway
 * sends no other again: most deliveries cost one look.
 */
export function createTimestampWatch(now: () => number, log: Log): WatchTimestamps {
  const seen = new LRUCache<string, { timestampMs: number; arrivedAt: number }>({ max: MAX_IDS });
  let hasWarned = false;

  const watch: WatchTimestamps = (id, timestampMs, startedAt, isHandled) => {
    if (hasWarned || (isHandled && seen.size === 0)) return;
    const known = seen.get(id);
    if (known === undefined && isHandled) return;
    // The moment of arrival by the receiver's clock: a handler may have taken its time.
    const arrivedAt = now() - (performance.now() - startedAt);
    if (known?.timestampMs !== timestampMs) {
      seen.set(id, { timestampMs, arrivedAt });
      return;
    }
    if (Math.abs(arrivedAt - known.arrivedAt) <= MIN_GAP_MS) return;
    hasWarned = true;
    seen.clear();
    log("warn", NOTICE, { id });
  };

  return (...facts) => {
    try {
      watch(...facts);
    } catch {
      // The clock is a partner's code, and this has no say in the answer.
    }
  };
}

const NOTICE =
  "one delivery came again more than 8 s later with the same X-Webhook-Timestamp: either the gateway repeats" +
  " the first timestamp at each attempt, or a proxy or someone with a captured delivery sends the same bytes" +
  " again. If it is the gateway, its later attempts will be refused as stale: raise timestampToleranceMs. With a" +
  " store that survives restarts, any value up to retentionMs is safe, because ids are remembered that long";
