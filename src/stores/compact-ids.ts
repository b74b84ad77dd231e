import type { CompletedIds } from "./completed-ids.js";
import { UUID_GROUPS, readUuid } from "./uuid.js";
import { createUuidTable } from "./uuid-table.js";

const MAX_UINT32 = 0xffff_ffff;

/**
 * Handled ids in 28 bytes each where they are canonical UUIDs, as text where they are not. All share
 * one ring: an id takes the next place, and what stood there, handled longest ago, is forgotten.
 */
export function compactIds(maxEntries: number): CompletedIds {
  const uuids = createUuidTable(maxEntries);
  const texts = new Map<number, string>();
  const placesOfTexts = new Map<string, number>();
  /** The end of each place's retention, in seconds since the first id. */
  const untilSeconds = new Uint32Array(maxEntries);
  let startMs = 0;
  let nextPlace: number | undefined;

  // The id that was read last: a completion often follows its own claim.
  const uuid = new Uint16Array(UUID_GROUPS);
  let readId: string | undefined;
  let isUuid = false;
  const read = (id: string): boolean => {
    if (id === readId) return isUuid;
    readId = id;
    isUuid = readUuid(id, uuid);
    return isUuid;
  };

  const clear = (place: number): void => {
    const text = texts.get(place);
    if (text === undefined) {
      uuids.clear(place);
    } else {
      texts.delete(place);
      placesOfTexts.delete(text);
    }
  };

  return {
    has(id, now) {
      const place = read(id) ? uuids.find(uuid) : (placesOfTexts.get(id) ?? -1);
      return place !== -1 && (untilSeconds[place] ?? 0) * 1_000 > now - startMs;
    },

    add(id, now, retentionMs) {
      if (nextPlace === undefined) startMs = now;
      const place = nextPlace ?? 0;
      nextPlace = place + 1 === maxEntries ? 0 : place + 1;
      clear(place);
      // Rounded up, so that no retention ends early; 136 years are enough for any.
      const seconds = Math.ceil((now - startMs + retentionMs) / 1_000);
      untilSeconds[place] = Math.min(seconds, MAX_UINT32);
      // An id that comes again after its retention leaves its old place idle until the ring comes
      // round. That costs no id its retention: what was handled before it has ended too.
      if (read(id)) {
        uuids.put(uuid, place);
      } else {
        texts.delete(placesOfTexts.get(id) ?? place);
        texts.set(place, id);
        placesOfTexts.set(id, place);
      }
    },
  };
}
