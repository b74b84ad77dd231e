import { createHmac, randomBytes, randomUUID } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Outcome } from "../../answer/outcome.js";

/** Ids that are known to have been handled. */
const MAX_HANDLED = 100_000;

/**
 * Gives each attempt its X-Webhook-Id in the fixture: a UUID, and never the one it had.
 *
 * An id that was handled and its duplicates share one, so that a replay in their order sees duplicates
 * too. All other attempts have one of their own, since a replay has other handlers: the first attempt
 * that failed would succeed, and turn the second, which was handled, into a duplicate.
 *
 * The shared ones are made by a key that is drawn anew for each recorder and kept nowhere: nobody can
 * tell of an id whether a fixture is of it.
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
    // Handled twice: by two receivers, or by one whose store has forgotten it.
    if (handled.has(shared)) return randomUUID();
    handled.set(shared, true);
    return shared;
  };
}

/** A random UUID (version 4) of given bytes. */
function uuidOf(random: Uint8Array): string {
  const bytes = Buffer.from(random.subarray(0, 16));
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
