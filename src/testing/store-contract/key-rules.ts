import { ensure, type StoreRule, type StoreVerbs } from "./store-verbs.js";

/** All match the grammar of X-Webhook-Id. */
const AWKWARD_KEYS = [
  ...["__proto__", "constructor", "toString", "hasOwnProperty", "then", "null", "undefined"],
  ...[".", "..", "-", "_", "0", "00", "1e3", "a", "A", "a.b", "a-b", "a_b", "a".repeat(128)],
];
const AWKWARD_OWNERS = ["a", "A", "a1", "a-1", "aa", "__proto__", "constructor", "0", "null"];
const KEYS = 10_000;

/** Keys and owners are distinguished, whatever their text and however many there are. */
export const keyRules: readonly StoreRule[] = [
  {
    id: "keys-apart",
    title: "similar and awkward keys are distinguished",
    async check(store) {
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
  },
  {
    id: "owners-apart",
    title: "similar and awkward owners are distinguished",
    async check(store) {
      for (const owner of AWKWARD_OWNERS) {
        const others = AWKWARD_OWNERS.filter((other) => other !== owner);
        await store.claimed("k", owner);
        for (const other of others) await store.renewed("k", other, false);
        for (const other of others) await store.release("k", other);
        for (const other of others) await store.inFlight("k", other);
        await store.release("k", owner);
      }
    },
  },
  {
    id: "keys-many",
    title: "10 000 keys are all remembered",
    async check(store) {
      const keys = Array.from({ length: KEYS }, (_, index) => `delivery-${index}`);
      const [odd, even] = halves(keys);
      await inBatches(store, keys, (client, key) => client.claimed(key, "a"));
      await inBatches(store, odd, (client, key) => client.complete(key, "a"));
      await inBatches(store, even, (client, key) => client.release(key, "a"));
      await inBatches(store.other, odd, (client, key) => client.completed(key, "b"));
      await inBatches(store.other, even, (client, key) => client.claimed(key, "b"));
    },
  },
];

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
