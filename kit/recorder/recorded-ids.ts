import { createHmac, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { WebhookOutcome } from "../../src/answer/outcome.js";
import { madeUpDeliveryId } from "../random.js";

/** Maximum number of handled ids that are remembered. */
const MAX_HANDLED = 100_000;

/**
 * The X-Webhook-Id of each attempt in its fixture: a made-up one, never the original.
 *
 * A handled delivery and its duplicates share an id, so that a replay in the same order sees duplicates too. All
 * other attempts get their own id, because a replay has other handlers: an attempt that failed would succeed
 * and turn the next attempt, which was handled, into a duplicate.
 *
 * Shared ids are made with a random key of the recorder that is never stored. So no one can tell from an original
 * id which fixture belongs to it.
 */
export function createRecordedIds(): (id: string, outcome: WebhookOutcome) => string {
  const key = randomBytes(32);
  const handled = new LRUCache<string, true>({ max: MAX_HANDLED });
  return (id, outcome) => {
    if (outcome !== "handled" && outcome !== "discarded" && outcome !== "duplicate") {
      return madeUpDeliveryId();
    }
    const shared = madeUpDeliveryId(createHmac("sha256", key).update(id).digest());
    if (outcome === "duplicate") return shared;
    // Handled twice: by two receivers, or by a receiver whose store forgot the id.
    if (handled.has(shared)) return madeUpDeliveryId();
    handled.set(shared, true);
    return shared;
  };
}
