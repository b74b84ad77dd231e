import type { CompletedIds } from "./completed-ids.js";
import { UUID_GROUPS, readUuid } from "./uuid.js";
import { createUuidTable } from "./uuid-table.js";

/**
 * Handled ids in 31 bytes each where they are canonical UUIDs, as text where they are not. All share
 * one ring: an id takes the next place, and what stood there, handled longest ago, is forgotten.
 */
export function compactIds(maxEntries: number, onForgotten: () => void): CompletedIds {
  const uuids = createUuidTable(maxEntries);
  const texts = new Map<number, string>();
  const placesOfTexts = new Map<string, number>();
  /** The end of each place's retention, by the clock of the store. */
  const untils = new Float64Array(maxEntries);
  let nextPlace = 0;

  // The id that was read last: a completion often follows its own claim.
  const uuid = new Uint16Array(UUID_GROUPS);
  let readId: string | undefined;
  let isUuid = false;
  const read = (id: string): boolean => {
    if (id === readId) return isUuid;
    isUuid = readUuid(id, uuid);
    readId = id;
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
      return place !== -1 && (untils[place] ?? 0) > now;
    },

    add(id, now, retentionMs) {
      const place = nextPlace;
      nextPlace = place + 1 === maxEntries ? 0 : place + 1;
      if ((untils[place] ?? 0) > now) onForgotten();
      clear(place);
      untils[place] = now + retentionMs;
      // An id that comes again after its retention leaves its old place idle until the ring comes round.
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
