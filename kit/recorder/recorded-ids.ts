import { createHmac, randomBytes, randomUUID } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Outcome } from "../../src/answer/outcome.js";

/** Maximum number of handled ids that are remembered. */
const MAX_HANDLED = 100_000;

/**
 * The X-Webhook-Id of each attempt in its fixture: a UUID, never the original id.
 *
 * A handled delivery and its duplicates share an id, so that a replay in the same order sees duplicates too. All
 * other attempts get their own id, because a replay has other handlers: an attempt that failed would succeed
 * and turn the next attempt, which was handled, into a duplicate.
 *
 * Shared ids are made with a random key of the recorder that is never stored. So no one can tell from an original
 * id which fixture belongs to it.
 */
export function createRecordedIds(): (id: string, outcome: Outcome) => string {
  const key = randomBytes(32);
  const handled = new LRUCache<string, true>({ max: MAX_HANDLED });
  return (id, outcome) => {
    if (outcome !== "handled" && outcome !== "discarded" && outcome !== "duplicate") {
      return randomUUID();
    }
    const shared = uuidOf(createHmac("sha256", key).update(id).digest());
    if (outcome === "duplicate") return shared;
    // Handled twice: by two receivers, or by a receiver whose store forgot the id.
    if (handled.has(shared)) return randomUUID();
    handled.set(shared, true);
    return shared;
  };
}

/** A UUID (version 4) made from the given bytes. */
function uuidOf(random: Uint8Array): string {
  const bytes = Buffer.from(random.subarray(0, 16));
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
