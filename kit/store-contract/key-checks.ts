import { ensure, type StoreChecks, type StoreVerbs } from "./store-verbs.js";

const UUID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";
/** They match the grammar of X-Webhook-Id, or contain `#` as the keys of records and jobs do. */
export const AWKWARD_KEYS = [
  "__proto__ constructor toString hasOwnProperty then null undefined",
  ". .. - _ a A a.b a-b a_b axb a.",
  "a".repeat(128),
  "# a# a#b job#a record#a",
  // Equal as numbers, the last two only in floating point.
  "0 00 -0 1e3 1000 0x10 16 9007199254740992 9007199254740993",
  // One UUID in forms that a column of type uuid takes as equal.
  `${UUID} ${UUID.toUpperCase()} ${UUID.replaceAll("-", "")}`,
  // Equal under the string hashes of Java and of Bernstein.
  "Aa BB ab bA",
].flatMap((keys) => keys.split(" "));
const LONGEST_KEY = 128;
/** Where columns, indexes and hashes cut a text, and on both sides of it. */
const CUTS = [8, 16, 20, 32, 36, 40, 48, 64, 100, 127, 128];
const PLACES = [...new Set(CUTS.flatMap((cut) => [cut, Math.min(cut + 1, LONGEST_KEY)]))];
const SAME = "a".repeat(LONGEST_KEY);
/** The longest key, and keys that differ from it in one character. */
export const LONG_KEYS: readonly [string, ...string[]] = [
  SAME,
  ...PLACES.map((place) => `${SAME.slice(0, place - 1)}b${SAME.slice(place)}`),
];
const AWKWARD_OWNERS = [
  "a A a1 a-1 aa __proto__ constructor 0 null",
  `${UUID} ${UUID.replace(/1$/, "2")}`,
  `${"a".repeat(64)} ${"a".repeat(63)}b`,
].flatMap((owners) => owners.split(" "));
const KEYS = 10_000;

/** Keys and owners are distinguished, whatever their text and however many there are. */
export const keyChecks = {
  async "keys-apart"(store) {
    const inherited = Object.keys(Object.prototype).length;
    for (const key of AWKWARD_KEYS) await store.claimed(key, "a");
    const [odd, even] = halves(AWKWARD_KEYS);
    for (const key of odd) await store.complete(key, "a");
    for (const key of odd) await store.other.completed(key, "b");
    for (const key of even) await store.other.inFlight(key, "b");
    for (const key of even) await store.release(key, "a");
    for (const key of even) await store.claimed(key, "b");
    const added = Object.keys(Object.prototype).length - inherited;
    ensure(added === 0, "no key may pollute a prototype", added);
  },
  async "keys-late"(store) {
    const [same, ...keys] = LONG_KEYS;
    await store.claimed(same, "a");
    await store.complete(same, "a");
    for (const key of keys) await store.claimed(key, "a");
    const [odd, even] = halves(keys);
    for (const key of odd) await store.complete(key, "a");
    for (const key of odd) await store.other.completed(key, "b");
    for (const key of even) await store.other.inFlight(key, "b");
  },
  async "owners-apart"(store) {
    for (const owner of AWKWARD_OWNERS) {
      const others = AWKWARD_OWNERS.filter((other) => other !== owner);
      await store.claimed("k", owner);
      for (const other of others) await store.renewed("k", other, false);
      for (const other of others) await store.release("k", other);
      for (const other of others) await store.inFlight("k", other);
      await store.release("k", owner);
    }
  },
  async "keys-many"(store) {
    const keys = Array.from({ length: KEYS }, (_, index) => `delivery-${index}`);
    const [odd, even] = halves(keys);
    await inBatches(store, keys, (client, key) => client.claimed(key, "a"));
    await inBatches(store, odd, (client, key) => client.complete(key, "a"));
    // A store that is full evicts the oldest first, or any at random.
    const sample = even.filter((_, at) => at < 250 || at % 20 === 0);
    await inBatches(store.other, sample, (client, key) => client.inFlight(key, "b"));
    await inBatches(store, even, (client, key) => client.release(key, "a"));
    await inBatches(store.other, odd, (client, key) => client.completed(key, "b"));
    await inBatches(store.other, even, (client, key) => client.claimed(key, "b"));
  },
} satisfies StoreChecks;

function halves(keys: readonly string[]): [string[], string[]] {
  return [keys.filter((_, at) => at % 2 === 0), keys.filter((_, at) => at % 2 === 1)];
}

/** Calls for all keys, by both clients in turn, 500 at a time: as many as a real client can take. */
async function inBatches(
  store: StoreVerbs,
  keys: readonly string[],
  call: (client: StoreVerbs, key: string) => Promise<void>,
): Promise<void> {
  for (let at = 0; at < keys.length; at += 500) {
    const calls = keys
      .slice(at, at + 500)
      .map((key, index) => call(index % 2 === 0 ? store : store.other, key));
    await Promise.all(calls);
  }
}
