import { afterEach, describe, expect, it, vi } from "vitest";
import { compactMemoryStore, type DeliveryStore } from "../../../src/index.js";
import { createRandom } from "../../../kit/random.js";
import { deliveryStoreContract } from "../../../kit/store-contract/delivery-store-contract.js";

const TIMES = { leaseMs: 1_000, retentionMs: 10_000 };
const UUID = "0f8fad5b-d9cb-469f-a165-70867728950e";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

function uuids(count: number, seed: number): string[] {
  const { below } = createRandom(seed);
  const digits = (length: number) => Array.from({ length }, () => below(16).toString(16)).join("");
  return Array.from({ length: count }, () => [8, 4, 4, 4, 12].map(digits).join("-"));
}

/** Replaces each key by a UUID of its own, so that the contract tests the table of UUIDs too. */
function underUuids(store: DeliveryStore): DeliveryStore {
  const fresh = uuids(11_000, 1);
  const given = new Map<string, string>();
  const uuidOf = (key: string): string => {
    const uuid = given.get(key) ?? fresh.pop() ?? "too few";
    given.set(key, uuid);
    return uuid;
  };
  return {
    claim: (key, ...rest) => store.claim(uuidOf(key), ...rest),
    renew: (key, ...rest) => store.renew(uuidOf(key), ...rest),
    complete: (key, ...rest) => store.complete(uuidOf(key), ...rest),
    release: (key, ...rest) => store.release(uuidOf(key), ...rest),
  };
}

function handle(store: DeliveryStore, key: string, retentionMs = TIMES.retentionMs): void {
  expect(store.claim(key, "o", TIMES)).toEqual({ state: "claimed", takeover: false });
  void store.complete(key, "o", { retentionMs });
}

/** Whether `key` is remembered. Leaves no lease behind. */
function isCompleted(store: DeliveryStore, key: string): boolean {
  const claim = store.claim(key, "reader", TIMES) as { state: string };
  void store.release(key, "reader");
  return claim.state === "completed";
}

describe("compactMemoryStore keeps the DeliveryStore contract for UUIDs", () => {
  const contract = deliveryStoreContract(() => {
    let ms = 5;
    return {
      store: underUuids(compactMemoryStore({ maxEntries: 10_000, now: () => ms })),
      advance(by) {
        ms += by;
      },
    };
  });
  it.each(contract)("$id: $title", async ({ run }) => {
    await run();
  });
});

describe("compactMemoryStore tells ids apart", () => {
  const shifted = UUID.slice(1, 9) + "0" + UUID.slice(9);
  it.each([
    ["in upper case", UUID.toUpperCase()],
    ["with one letter in upper case", UUID.replace("f", "F")],
    ["without dashes", UUID.replaceAll("-", "")],
    ["with dots for dashes", UUID.replaceAll("-", ".")],
    ["with a dash at another place", shifted],
    ["with underscores", UUID.replaceAll("-", "_")],
    ...[8, 13, 18, 23].map((at) => [`without the dash at ${at}`, replaceAt(UUID, at, "0")]),
    ["with one digit more", `${UUID}0`],
    ["with one digit less", UUID.slice(0, -1)],
    ["with the letter g", UUID.replace("f", "g")],
    ["with a digit of another script", UUID.replace("f", "\u0666")],
    ["with a letter whose low bits are a digit's", UUID.replace("0", "\u0130")],
    ..."/:@`GO_.".split("").map((char) => [`with ${char} for a digit`, replaceAt(UUID, 35, char)]),
  ] as [string, string][])("compactMemoryStore tells a UUID from the same %s", (_what, other) => {
    expect(other).not.toBe(UUID);
    const store = compactMemoryStore({ maxEntries: 10 });
    handle(store, UUID);
    handle(store, other);
    expect(isCompleted(store, UUID)).toBe(true);
    expect(isCompleted(store, other)).toBe(true);
  });

  it("compactMemoryStore tells UUIDs apart that differ in one character", () => {
    const ids = UUID.split("").flatMap((char, at) =>
      char === "-" ? [] : ["0", "f", "g", "h"].map((digit) => replaceAt(UUID, at, digit)),
    );
    const different = [...new Set(ids)];
    expect(different.length).toBeGreaterThan(32 * 3);
    const store = compactMemoryStore({ maxEntries: 200 });
    for (const id of different) handle(store, id);
    for (const id of different) expect(isCompleted(store, id)).toBe(true);
  });

  it("compactMemoryStore tells UUIDs apart that have the same hash", () => {
    vi.spyOn(crypto, "getRandomValues").mockImplementation((words) => {
      (words as Uint32Array).fill(0);
      return words;
    });
    const store = compactMemoryStore({ maxEntries: 200 });
    const ids = uuids(300, 2);
    for (const id of ids) handle(store, id);
    expect(ids.filter((id) => isCompleted(store, id))).toEqual(ids.slice(100));
  });
});

it("compactMemoryStore remembers exactly the last maxEntries ids, after five rounds of the ring", () => {
  const store = compactMemoryStore({ maxEntries: 10_000 });
  const ids = uuids(50_000, 3);
  const mixed = ids.map((id, at) => (at % 10 === 0 ? id.toUpperCase() : id));
  for (const id of mixed) handle(store, id);
  expect(mixed.filter((id) => isCompleted(store, id))).toEqual(mixed.slice(-10_000));
});

it("compactMemoryStore ends each retention to the millisecond", () => {
  let ms = 123.25;
  const store = compactMemoryStore({ now: () => ms });
  handle(store, "first", 1);
  ms += 700.5;
  handle(store, UUID, 10_000);
  ms += 10_000 - 0.001;
  expect(isCompleted(store, UUID)).toBe(true);
  ms += 0.002;
  expect(isCompleted(store, UUID)).toBe(false);
});

it.each([Number.NaN, Number.NEGATIVE_INFINITY, 1e300, -1e15, 4e12 * 1e6])(
  "compactMemoryStore works again after its clock returned %s once",
  (odd) => {
    let ms = odd;
    const store = compactMemoryStore({ now: () => ms });
    handle(store, UUID);
    void store.release(UUID, "o");
    ms = 1_000;
    const others = uuids(5, 9);
    for (const id of others) handle(store, id);
    expect(others.every((id) => isCompleted(store, id))).toBe(true);
    ms += TIMES.retentionMs;
    expect(others.some((id) => isCompleted(store, id))).toBe(false);
  },
);

it("compactMemoryStore accepts a retention of a century", () => {
  let ms = 0;
  const store = compactMemoryStore({ now: () => ms });
  handle(store, UUID, Number.MAX_SAFE_INTEGER);
  ms = 100 * 365 * 86_400_000;
  expect(isCompleted(store, UUID)).toBe(true);
});

it("compactMemoryStore draws random numbers of its own, not before its first id", () => {
  const draws = vi.spyOn(crypto, "getRandomValues");
  const stores = [compactMemoryStore(), compactMemoryStore()];
  expect(draws).not.toHaveBeenCalled();
  for (const store of stores) handle(store, UUID);
  expect(draws).toHaveBeenCalledTimes(2);
});

it("compactMemoryStore reserves 31 bytes an id and never more", () => {
  // Counted at the constructors: the memory use of the process falls with each garbage collection.
  const allocated: number[] = [];
  for (const Real of [Float64Array, Uint32Array, Uint16Array]) {
    const counting = new Proxy(Real, {
      construct(target, args: unknown[], self) {
        const made = Reflect.construct(target, args, self) as ArrayBufferView;
        allocated.push(made.byteLength);
        return made;
      },
    });
    vi.stubGlobal(Real.name, counting);
  }
  const reserved = () => allocated.reduce((sum, bytes) => sum + bytes, 0) / 1_000_000;
  const million = compactMemoryStore({ maxEntries: 1_000_000 });
  expect(reserved()).toBeGreaterThan(30);
  expect(reserved()).toBeLessThan(32);
  for (const id of uuids(20_000, 4)) handle(million, id);
  expect(reserved()).toBeLessThan(32);
});

function replaceAt(text: string, at: number, char: string): string {
  return text.slice(0, at) + char + text.slice(at + 1);
}
