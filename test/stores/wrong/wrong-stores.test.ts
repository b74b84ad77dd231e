import { describe, expect, it } from "vitest";
import type { ContractCase, StoreUnderTest } from "../../../kit/store-contract/contract-case.js";
import { deliveryStoreContract } from "../../../kit/store-contract/delivery-store-contract.js";
import { referenceStore } from "../../../kit/store-contract/sequence-checks.js";
import type { DeliveryStore } from "../../../src/index.js";
import type { ClaimOptions } from "../../../src/stores/delivery-store.js";
import { convictingCases, isAlone } from "../../support/testing/convictions.js";
import {
  naiveStore,
  STORE_MISTAKES,
  type StoreMistake,
} from "../../support/testing/naive-store.js";

/** Makes the clients of an empty store on a clock. */
type MakeClients = (now: () => number) => Pick<StoreUnderTest, "store"> & Partial<StoreUnderTest>;

/** Mistakes that are made around a good store: in its columns, its clock, its client or its connection. */
const AROUND: Readonly<Record<string, readonly [convictedBy: string, make: MakeClients]>> = {
  "cuts the lease of a claim at a minute": ["lease-days", leasesAs("claim", atMostAMinute)],
  "cuts a renewal at a minute": ["lease-days", leasesAs("renew", atMostAMinute)],
  "cuts ids at 127 characters": ["keys-late", keysAs((key) => key.slice(0, 127))],
  "keeps the last 36 characters of an id": ["keys-late", keysAs((key) => key.slice(-36))],
  "takes ids for numbers": ["keys-apart", keysAs((key) => String(Number(key) || key))],
  "takes forms of one UUID for equal": [
    "keys-apart",
    keysAs((key) =>
      /^[0-9a-f-]{32,36}$/i.test(key) ? key.replaceAll("-", "").toLowerCase() : key,
    ),
  ],
  "takes the characters of a file name for equal": [
    "keys-apart",
    keysAs((key) => key.replaceAll(/[._-]/g, "_")),
  ],
  "keeps the hash of Java in place of an id": ["keys-apart", keysAs((key) => String(hashOf(key)))],
  "mixes up the letter case of owners": ["owners-apart", ownersAs((owner) => owner.toLowerCase())],
  "caps a retention at a year": [
    "retention-days",
    retentionsAs((ms) => Math.min(ms, 365 * 86_400_000)),
  ],
  "keeps 32 bits of a retention": ["retention-long", retentionsAs((ms) => Math.trunc(ms) | 0)],
  "forgets ids beyond a thousand": ["keys-many", around(forgetful)],
  "has a client that remembers what was in flight": ["release", remembering],
  "says in seconds what is left": ["retry-after", answersAs((ms) => Math.ceil(ms / 1_000))],
  "writes a completion in two steps": ["complete-atomic", around(twoSteps)],
  "does not know its owner through another client": ["claim-exclusive", apart("claim")],
  "renews through the client that claimed, and no other": ["renew-elsewhere", apart("renew")],
  "counts a lease in whole seconds": ["takeover", leasesAs("claim", inWholeSeconds)],
  "counts a renewal in whole seconds": ["renew", leasesAs("renew", inWholeSeconds)],
  "refuses a claim while another one runs": ["claim-again-atomic", around(oneAtATime)],
  "lets a former owner release": ["release-fenced", around(remembersOwners)],
  "lets an owner claim what it has completed": ["complete", around(forgivesOwners)],
};

/** What a wrong store does, a case that must convict it, and how to make it. */
type WrongStore = readonly [what: string, convictedBy: string, make: MakeClients];

const WRONG_STORES: readonly WrongStore[] = [
  ...Object.entries(STORE_MISTAKES).map(([mistake, convictedBy]) => {
    const make: MakeClients = (now) => ({ store: naiveStore(now, mistake as StoreMistake) });
    return [mistake, convictedBy, make] as const;
  }),
  ...Object.entries(AROUND).map(([what, row]) => [what, ...row] as const),
];

/** A store that is made of a good one. */
function around(wrap: (store: DeliveryStore, now: () => number) => DeliveryStore): MakeClients {
  return (now) => ({ store: wrap(naiveStore(now), now) });
}

function withKeys(store: DeliveryStore, keyOf: (key: string) => string): DeliveryStore {
  return {
    claim: (key, ...more) => store.claim(keyOf(key), ...more),
    renew: (key, ...more) => store.renew(keyOf(key), ...more),
    complete: (key, ...more) => store.complete(keyOf(key), ...more),
    release: (key, ...more) => store.release(keyOf(key), ...more),
  };
}

function keysAs(keyOf: (key: string) => string): MakeClients {
  return around((store) => withKeys(store, keyOf));
}

function ownersAs(ownerOf: (owner: string) => string): MakeClients {
  return around((store) => ({
    claim: (key, owner, options) => store.claim(key, ownerOf(owner), options),
    renew: (key, owner, options) => store.renew(key, ownerOf(owner), options),
    complete: (key, owner, options) => store.complete(key, ownerOf(owner), options),
    release: (key, owner) => store.release(key, ownerOf(owner)),
  }));
}

function retentionsAs(retentionOf: (ms: number) => number): MakeClients {
  return around((store) => ({
    ...store,
    complete: (key, owner, { retentionMs }) =>
      store.complete(key, owner, { retentionMs: retentionOf(retentionMs) }),
  }));
}

/** A store that answers another `retryAfterMs`. */
function answersAs(leftOf: (ms: number) => number): MakeClients {
  return around((store) => ({
    ...store,
    async claim(...given) {
      const result = await store.claim(...given);
      return result.state === "in_flight"
        ? { ...result, retryAfterMs: leftOf(result.retryAfterMs) }
        : result;
    },
  }));
}

/** A store whose leases are otherwise, if they begin by this method. */
function leasesAs(method: "claim" | "renew", leaseOf: (ms: number) => number): MakeClients {
  return around((store) => ({
    ...store,
    [method]: (key: string, owner: string, options: ClaimOptions) =>
      store[method](key, owner, { ...options, leaseMs: leaseOf(options.leaseMs) }),
  }));
}

function atMostAMinute(ms: number): number {
  return Math.min(ms, 60_000);
}

function inWholeSeconds(ms: number): number {
  return Math.floor(ms / 1_000) * 1_000;
}

/** A client that gives its owners names of its own when it calls this method. */
function apart(method: "claim" | "renew"): MakeClients {
  return (now) => {
    const store = naiveStore(now);
    const owners = new Map<string, string>();
    const clientOf = (name: string): DeliveryStore => ({
      ...store,
      async claim(key, owner, options) {
        const isForeign = (owners.get(key + owner) ?? name) !== name;
        if (method === "claim" && isForeign) return store.claim(key, `${name} ${owner}`, options);
        const result = await store.claim(key, owner, options);
        if (result.state === "claimed") owners.set(key + owner, name);
        return result;
      },
      renew: (key, owner, options) =>
        (method === "claim" || owners.get(key + owner) === name) &&
        store.renew(key, owner, options),
    });
    return { store: clientOf("first"), otherClient: clientOf("other") };
  };
}

function oneAtATime(store: DeliveryStore): DeliveryStore {
  const busy = new Set<string>();
  return {
    ...store,
    async claim(key, ...given) {
      if (busy.has(key)) return { state: "in_flight", retryAfterMs: 1 };
      busy.add(key);
      const result = await store.claim(key, ...given);
      busy.delete(key);
      return result;
    },
  };
}

function remembersOwners(store: DeliveryStore): DeliveryStore {
  const owners = new Map<string, string[]>();
  return {
    ...store,
    async claim(key, owner, options) {
      const result = await store.claim(key, owner, options);
      if (result.state === "claimed") owners.set(key, [...(owners.get(key) ?? []), owner]);
      return result;
    },
    async release(key, owner) {
      const known = owners.get(key) ?? [];
      if (!known.includes(owner)) return;
      owners.delete(key);
      await store.release(key, known.at(-1) ?? owner);
    },
  };
}

function forgivesOwners(store: DeliveryStore): DeliveryStore {
  const completedBy = new Map<string, string>();
  return {
    ...store,
    claim: (key, owner, options) =>
      completedBy.get(key) === owner
        ? { state: "claimed", takeover: false }
        : store.claim(key, owner, options),
    async complete(key, owner, options) {
      await store.complete(key, owner, options);
      completedBy.set(key, owner);
    },
  };
}

function hashOf(text: string): number {
  let hash = 0;
  for (const character of text) hash = (Math.imul(hash, 31) + character.charCodeAt(0)) | 0;
  return hash;
}

/** Forgets the oldest ids, also those that are in flight. */
function forgetful(store: DeliveryStore, now: () => number): DeliveryStore {
  const generations = new Map<string, number>();
  const newest = new Set<string>();
  const keyOf = (key: string) => {
    newest.delete(key);
    newest.add(key);
    const [oldest = ""] = newest;
    if (newest.size > 1_000) {
      newest.delete(oldest);
      generations.set(oldest, now() + generations.size);
    }
    return `${key}#${generations.get(key) ?? 0}`;
  };
  return withKeys(store, keyOf);
}

function remembering(now: () => number): ReturnType<MakeClients> {
  const store = naiveStore(now);
  const busyUntil = new Map<string, number>();
  const claim: DeliveryStore["claim"] = async (key, owner, options) => {
    const leftMs = (busyUntil.get(key + owner) ?? 0) - now();
    if (leftMs > 0) return { state: "in_flight", retryAfterMs: leftMs };
    const result = await store.claim(key, owner, options);
    if (result.state === "in_flight") busyUntil.set(key + owner, now() + result.retryAfterMs);
    return result;
  };
  return { store, otherClient: { ...store, claim } };
}

function twoSteps(store: DeliveryStore): DeliveryStore {
  const complete: DeliveryStore["complete"] = async (key, owner, options) => {
    await store.release(key, owner);
    await Promise.resolve();
    await store.complete(key, owner, options);
  };
  return { ...store, complete };
}

function contractOf(make: MakeClients, leaseMs?: number): readonly ContractCase[] {
  const makeStore = () => {
    let ms = 1_000_000;
    return {
      ...make(() => ms),
      advance(by: number) {
        ms += by;
      },
    };
  };
  return deliveryStoreContract(makeStore, { leaseMs });
}

function inSeconds(ms: number): number {
  return Math.ceil(ms / 1_000) * 1_000;
}

/** Remembers a completion longer each time it is asked for, as Redis does with GETEX. */
function sliding(store: DeliveryStore, now: () => number): DeliveryStore {
  const completed = new Map<string, { until: number; retentionMs: number }>();
  return {
    ...store,
    async claim(key, ...given) {
      const known = completed.get(key);
      if (known === undefined || known.until <= now()) return store.claim(key, ...given);
      known.until = now() + known.retentionMs;
      return { state: "completed" };
    },
    async complete(key, owner, options) {
      await store.complete(key, owner, options);
      const { retentionMs } = options;
      if (!completed.has(key)) completed.set(key, { until: now() + retentionMs, retentionMs });
    },
  };
}

describe("wrong stores", () => {
  /** Take longer than all other cases together. */
  const LARGE = ["keys-many", "sequences"];
  const convictions = new Map<MakeClients, Promise<string[]>>();
  const convictionsOf = ([, expected, make]: WrongStore): Promise<string[]> => {
    const known = convictions.get(make);
    if (known !== undefined) return known;
    const cases = contractOf(make).filter(({ id }) => !LARGE.includes(id) || id === expected);
    const ids = convictingCases(cases);
    convictions.set(make, ids);
    return ids;
  };

  it("there are at least forty wrong stores", () => {
    expect(WRONG_STORES.length).toBeGreaterThanOrEqual(40);
  });

  it.each(WRONG_STORES)("a store that %s fails the case %s", async (...wrong) => {
    const convicting = await convictionsOf(wrong);
    expect(convicting).toContain(wrong[1]);
    // What a case of its own convicts needs no sequences.
    if (wrong[1] === "sequences") expect(convicting).toEqual(["sequences"]);
  });

  it("every case of the contract is the only one that convicts some wrong store", async () => {
    const all = contractOf((now) => ({ store: naiveStore(now) })).map(({ id }) => id);
    const convictions = await Promise.all(WRONG_STORES.map(convictionsOf));
    expect(all.filter((id) => !convictions.some((ids) => isAlone(id, ids)))).toEqual([]);
  });
});

describe("right stores", () => {
  it.each<[string, MakeClients]>([
    ["the store in the documentation of DeliveryStore", (now) => ({ store: referenceStore(now) })],
    ["the naive store that the wrong ones are made from", (now) => ({ store: naiveStore(now) })],
    ["a store that rounds retryAfterMs up to seconds", answersAs(inSeconds)],
    ["a store that counts a retention from the last look", around(sliding)],
  ])("%s passes every case of the contract", async (_name, make) => {
    expect(await convictingCases(contractOf(make))).toEqual([]);
  });

  it("a store that rounds up to seconds passes with a lease of 100 ms", async () => {
    expect(await convictingCases(contractOf(answersAs(inSeconds), 100))).toEqual([]);
  });
});
