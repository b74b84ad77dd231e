import { UUID_GROUPS } from "./uuid.js";

/** Numbered places, each empty or with a UUID. A UUID is found at the place where it was put last. */
export interface UuidTable {
  /** The place of `uuid`, or -1. */
  find(uuid: Uint16Array): number;
  /** Puts `uuid` at `place`, which has to be clear. Where it stood before, it is no longer found. */
  put(uuid: Uint16Array, place: number): void;
  /** Forgets the UUID at `place`, if any is found there. */
  clear(place: number): void;
}

/** More than two in five slots stay empty, so a search looks at 3 of them when the table is full. */
const SLOTS_PER_PLACE = 1.75;
const EMPTY = 0;
/**
 * A slot in use holds 4 bits of the hash, 4 of how far it is from the slot where its search starts,
 * and 24 of the place, counted from 1. The first two spare most looks at other UUIDs, each a miss of
 * the cache: a quarter of the time at a million ids.
 */
const HASH_SHIFT = 28;
const DISTANCE_SHIFT = 24;
/** Stands for itself and all above. */
const MAX_DISTANCE = 15;
const PLACE_MASK = 2 ** DISTANCE_SHIFT - 1;
/** The prime 2^31 - 1. */
const PRIME = 0x7fff_ffff;

/**
 * A hash table with open addressing over typed arrays: 23 bytes a place, which the garbage collector
 * does not walk. Whole UUIDs are compared, never hashes alone: to take one for another would lose
 * an alarm.
 *
 * @param places How many, below 2^24. Memory is reserved for all, and used as they fill.
 */
export function createUuidTable(places: number): UuidTable {
  const uuids = new Uint16Array(places * UUID_GROUPS);
  const slots = new Uint32Array(Math.ceil(places * SLOTS_PER_PLACE) + 1);
  let factors: Float64Array | undefined;

  /**
   * A sum of the groups, each times a random factor, modulo a prime. Two given UUIDs collide once in
   * 2^31 stores, so nobody can choose ids that do. The factors wait for the first id, since workers
   * give out no random numbers while a module loads.
   */
  const hash = (groups: Uint16Array, start: number): number => {
    factors ??= randomFactors();
    let sum = 0;
    // 8 products of 47 bits: a double holds their sum without loss.
    for (let at = 0; at < UUID_GROUPS; at++) sum += (groups[start + at] ?? 0) * (factors[at] ?? 0);
    // As `% PRIME`, which is a slow call on doubles: 2^31 is 1 modulo the prime.
    const high = Math.floor(sum / 2 ** 31);
    return scramble((sum - high * PRIME) | 0);
  };

  const hashAt = (place: number): number => hash(uuids, place * UUID_GROUPS);
  const slotOf = (hashed: number): number => hashed % slots.length;
  const after = (slot: number): number => (slot + 1 === slots.length ? 0 : slot + 1);
  const entryAt = (slot: number): number => slots[slot] ?? EMPTY;
  const placeIn = (entry: number): number => (entry & PLACE_MASK) - 1;

  const distance = (home: number, slot: number): number =>
    slot < home ? slot - home + slots.length : slot - home;

  const fill = (slot: number, home: number, hashed: number, place: number): void => {
    const far = Math.min(distance(home, slot), MAX_DISTANCE);
    slots[slot] = ((hashed >>> HASH_SHIFT) << HASH_SHIFT) | (far << DISTANCE_SHIFT) | (place + 1);
  };

  /** Where the search for what is in `slot` starts. */
  const homeOf = (slot: number): number => {
    const entry = entryAt(slot);
    const far = (entry >>> DISTANCE_SHIFT) & MAX_DISTANCE;
    if (far === MAX_DISTANCE) return slotOf(hashAt(placeIn(entry)));
    return slot < far ? slot - far + slots.length : slot - far;
  };

  const isAt = (place: number, uuid: Uint16Array): boolean => {
    const start = place * UUID_GROUPS;
    for (let at = 0; at < UUID_GROUPS; at++) if (uuids[start + at] !== uuid[at]) return false;
    return true;
  };

  /** The slot of `uuid`, or the empty one where it belongs. */
  const search = (uuid: Uint16Array, hashed: number): number => {
    for (let slot = slotOf(hashed); ; slot = after(slot)) {
      const entry = entryAt(slot);
      if (entry === EMPTY) return slot;
      if ((entry ^ hashed) >>> HASH_SHIFT === 0 && isAt(placeIn(entry), uuid)) return slot;
    }
  };

  /** Closes the gap: an empty slot would end the search for what was put behind it on collision. */
  const remove = (slot: number): void => {
    let gap = slot;
    for (let at = after(gap); entryAt(at) !== EMPTY; at = after(at)) {
      const home = homeOf(at);
      const isReachedThroughGap = distance(home, at) >= distance(gap, at);
      if (!isReachedThroughGap) continue;
      fill(gap, home, entryAt(at), placeIn(entryAt(at)));
      gap = at;
    }
    slots[gap] = EMPTY;
  };

  return {
    find(uuid) {
      return placeIn(entryAt(search(uuid, hash(uuid, 0))));
    },

    put(uuid, place) {
      const hashed = hash(uuid, 0);
      const slot = search(uuid, hashed);
      fill(slot, slotOf(hashed), hashed, place);
      const start = place * UUID_GROUPS;
      for (let at = 0; at < UUID_GROUPS; at++) uuids[start + at] = uuid[at] ?? 0;
    },

    clear(place) {
      let slot = slotOf(hashAt(place));
      while (entryAt(slot) !== EMPTY && placeIn(entryAt(slot)) !== place) slot = after(slot);
      // Empty: the UUID that stands here was put elsewhere since.
      if (entryAt(slot) !== EMPTY) remove(slot);
    },
  };
}

function randomFactors(): Float64Array {
  const words = crypto.getRandomValues(new Uint32Array(UUID_GROUPS));
  return Float64Array.from(words, (word) => word >>> 1);
}

/** Spreads neighbours, which the sum leaves in rows: slots in a row are searched one by one. From MurmurHash3. */
function scramble(hashed: number): number {
  let mixed = hashed;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85eb_ca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
