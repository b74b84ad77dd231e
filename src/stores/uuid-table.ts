import { UUID_GROUPS } from "./uuid.js";

/** With 1.75 slots per place, two in five stay empty. A search in a full table then looks at 3 slots. */
const SLOTS_PER_PLACE = 1.75;
const EMPTY = 0;
/**
 * A used slot holds 4 bits of the hash, 4 bits of the distance to the slot where its search starts, and
 * 24 bits of the place, counted from 1. The first two avoid most looks at other UUIDs, each a cache miss:
 * a quarter of the time at a million ids.
 */
const HASH_SHIFT = 28;
const DISTANCE_SHIFT = 24;
/** Stands for this distance and any longer one. */
const MAX_DISTANCE = 15;
const PLACE_MASK = 2 ** DISTANCE_SHIFT - 1;
/** The prime 2^31 - 1. */
const PRIME = 0x7fff_ffff;

/**
 * Numbered places, each empty or with a UUID; a UUID is found at the place where it was put last. A hash
 * table with open addressing over typed arrays: 23 bytes a place, which the garbage collector does not
 * scan. It compares whole UUIDs, never hashes alone: to confuse two of them would lose an alarm.
 */
export class UuidTable {
  private readonly uuids: Uint16Array;
  private readonly slots: Uint32Array;
  private factors: Float64Array | undefined;

  /** @param places Number of places, below 2^24. Memory is reserved for all of them. */
  constructor(places: number) {
    this.uuids = new Uint16Array(places * UUID_GROUPS);
    this.slots = new Uint32Array(Math.ceil(places * SLOTS_PER_PLACE) + 1);
  }

  /** Returns the place of `uuid`, or -1. */
  find(uuid: Uint16Array): number {
    return placeOf(this.entryAt(this.search(uuid, this.hash(uuid, 0))));
  }

  /** Puts `uuid` at `place`, which must be clear. It is no longer found at an earlier place. */
  put(uuid: Uint16Array, place: number): void {
    const hashed = this.hash(uuid, 0);
    const slot = this.search(uuid, hashed);
    this.fill(slot, this.slotOf(hashed), hashed, place);
    const start = place * UUID_GROUPS;
    for (let at = 0; at < UUID_GROUPS; at++) this.uuids[start + at] = uuid[at] ?? 0;
  }

  /** Removes the UUID at `place`, if there is one. */
  clear(place: number): void {
    let slot = this.slotOf(this.hashAt(place));
    while (this.entryAt(slot) !== EMPTY && placeOf(this.entryAt(slot)) !== place) {
      slot = this.after(slot);
    }
    // An empty slot: the UUID was put at another place since.
    if (this.entryAt(slot) !== EMPTY) this.remove(slot);
  }

  /**
   * The sum of the groups, each multiplied by a random factor, modulo a prime. Two given UUIDs collide in
   * one of 2^31 stores, so no sender can choose ids that collide. The factors are made with the first id:
   * Cloudflare Workers give no random numbers while a module loads.
   */
  private hash(groups: Uint16Array, start: number): number {
    this.factors ??= randomFactors();
    let sum = 0;
    // A double holds the sum of 8 products of 47 bits exactly.
    for (let at = 0; at < UUID_GROUPS; at++) {
      sum += (groups[start + at] ?? 0) * (this.factors[at] ?? 0);
    }
    // `sum % PRIME`, without its slow call on doubles: 2^31 is 1 modulo the prime.
    const high = Math.floor(sum / 2 ** 31);
    return scramble((sum - high * PRIME) | 0);
  }

  private hashAt(place: number): number {
    return this.hash(this.uuids, place * UUID_GROUPS);
  }

  private slotOf(hashed: number): number {
    return hashed % this.slots.length;
  }

  private after(slot: number): number {
    return slot + 1 === this.slots.length ? 0 : slot + 1;
  }

  private entryAt(slot: number): number {
    return this.slots[slot] ?? EMPTY;
  }

  private distance(home: number, slot: number): number {
    return slot < home ? slot - home + this.slots.length : slot - home;
  }

  private fill(slot: number, home: number, hashed: number, place: number): void {
    const far = Math.min(this.distance(home, slot), MAX_DISTANCE);
    this.slots[slot] =
      ((hashed >>> HASH_SHIFT) << HASH_SHIFT) | (far << DISTANCE_SHIFT) | (place + 1);
  }

  /** Returns the slot where the search for the entry of `slot` starts. */
  private homeOf(slot: number): number {
    const entry = this.entryAt(slot);
    const far = (entry >>> DISTANCE_SHIFT) & MAX_DISTANCE;
    if (far === MAX_DISTANCE) return this.slotOf(this.hashAt(placeOf(entry)));
    return slot < far ? slot - far + this.slots.length : slot - far;
  }

  private isAt(place: number, uuid: Uint16Array): boolean {
    const start = place * UUID_GROUPS;
    for (let at = 0; at < UUID_GROUPS; at++) if (this.uuids[start + at] !== uuid[at]) return false;
    return true;
  }

  /** Returns the slot of `uuid`, or the empty slot where it belongs. */
  private search(uuid: Uint16Array, hashed: number): number {
    for (let slot = this.slotOf(hashed); ; slot = this.after(slot)) {
      const entry = this.entryAt(slot);
      if (entry === EMPTY) return slot;
      if ((entry ^ hashed) >>> HASH_SHIFT === 0 && this.isAt(placeOf(entry), uuid)) return slot;
    }
  }

  /** Empties `slot` and moves later entries up: a search would end at a gap before it reaches them. */
  private remove(slot: number): void {
    let gap = slot;
    for (let at = this.after(gap); this.entryAt(at) !== EMPTY; at = this.after(at)) {
      const home = this.homeOf(at);
      const isReachedThroughGap = this.distance(home, at) >= this.distance(gap, at);
      if (!isReachedThroughGap) continue;
      this.fill(gap, home, this.entryAt(at), placeOf(this.entryAt(at)));
      gap = at;
    }
    this.slots[gap] = EMPTY;
  }
}

function placeOf(entry: number): number {
  return (entry & PLACE_MASK) - 1;
}

function randomFactors(): Float64Array {
  const words = crypto.getRandomValues(new Uint32Array(UUID_GROUPS));
  return Float64Array.from(words, (word) => word >>> 1);
}

/** The last step of MurmurHash3. Spreads similar UUIDs, which would otherwise fill neighbouring slots. */
function scramble(hashed: number): number {
  let mixed = hashed;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85eb_ca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
