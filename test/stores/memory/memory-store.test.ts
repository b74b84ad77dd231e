import { describe, expect, it, vi } from "vitest";
import { ConfigurationError, memoryStore, type DeliveryStore } from "../../../src/index.js";
import { NOW_MS } from "../../support/deliveries.js";
import { deliveryStoreContract } from "../../../kit/store-contract/delivery-store-contract.js";

const CLAIMED = { state: "claimed", takeover: false };
const COMPLETED = { state: "completed" };
const TIMES = { leaseMs: 1_000, retentionMs: 10_000 };

function onClock(make: (now: () => number) => DeliveryStore) {
  let ms = 1_000_000;
  return {
    store: make(() => ms),
    advance: (by: number) => {
      ms += by;
    },
  };
}

const contract = deliveryStoreContract(() => onClock((now) => memoryStore({ now })));
it.each(contract)("memoryStore keeps the DeliveryStore contract: $id: $title", async ({ run }) => {
  await run();
});

describe("the bound of memoryStore", () => {
  const storeOnClock = (maxEntries?: number) => onClock((now) => memoryStore({ maxEntries, now }));

  it("a memory store beyond maxEntries forgets the id completed longest ago", () => {
    const { store } = storeOnClock(3);
    for (const key of ["a", "b", "c", "d"]) {
      expect(store.claim(key, "o", TIMES)).toEqual(CLAIMED);
      void store.complete(key, "o", TIMES);
    }
    for (const key of ["b", "c", "d"]) {
      expect(store.claim(key, "p", TIMES)).toEqual(COMPLETED);
    }
    expect(store.claim("a", "p", TIMES)).toEqual(CLAIMED);
  });

  it("a claim of a completed id does not keep it in a memory store for longer", () => {
    const { store } = storeOnClock(2);
    for (const key of ["a", "b"]) void store.complete(key, "o", TIMES);
    expect(store.claim("a", "p", TIMES)).toEqual(COMPLETED);
    void store.complete("c", "o", TIMES);
    expect(store.claim("a", "p", TIMES)).toMatchObject({ state: "claimed" });
    expect(store.claim("b", "p", TIMES)).toEqual(COMPLETED);
  });

  it("a memory store counts the retention from the first completion", () => {
    const { store, advance } = storeOnClock();
    void store.complete("a", "o", TIMES);
    advance(TIMES.retentionMs - 1);
    void store.complete("a", "p", TIMES);
    expect(store.claim("a", "q", TIMES)).toEqual(COMPLETED);
    advance(1);
    expect(store.claim("a", "q", TIMES)).toEqual(CLAIMED);
  });

  it("a memory store ends a lease to the millisecond and returns what is left of it", () => {
    const { store, advance } = storeOnClock();
    void store.claim("a", "o", TIMES);
    advance(999);
    expect(store.claim("a", "p", TIMES)).toEqual({ state: "in_flight", retryAfterMs: 1 });
    expect(store.renew("a", "o", { leaseMs: 500 })).toBe(true);
    expect(store.claim("a", "p", TIMES)).toEqual({ state: "in_flight", retryAfterMs: 500 });
    advance(500);
    expect(store.renew("a", "o", { leaseMs: 500 })).toBe(false);
    expect(store.claim("a", "p", TIMES)).toEqual({ state: "claimed", takeover: true });
  });

  it("a memory store never evicts a claim in flight, however many ids are handled meanwhile", () => {
    const { store } = storeOnClock(10);
    void store.claim("running", "o", TIMES);
    for (let n = 0; n < 1_000; n++) {
      expect(store.claim(`handled-${n}`, "p", TIMES)).toMatchObject({ state: "claimed" });
      void store.complete(`handled-${n}`, "p", TIMES);
    }
    expect(store.claim("running", "q", TIMES)).toMatchObject({ state: "in_flight" });
    expect(store.renew("running", "o", { leaseMs: 1_000 })).toBe(true);
  });

  it("a memory store with maxEntries claims in flight refuses one more and keeps them", () => {
    const { store } = storeOnClock(3);
    for (const key of ["a", "b", "c"]) void store.claim(key, "o", TIMES);
    expect(() => store.claim("d", "o", TIMES)).toThrow("raise maxEntries");
    expect(store.claim("a", "o", TIMES)).toEqual(CLAIMED);
    const full = { name: "GatewayWebhookError", code: "memory_store_full" };
    expect(() => store.claim("d", "o", TIMES)).toThrow(expect.objectContaining(full) as Error);
    for (const key of ["a", "b", "c"]) {
      expect(store.claim(key, "p", TIMES)).toMatchObject({ state: "in_flight" });
    }
    void store.release("b", "o");
    expect(store.claim("d", "o", TIMES)).toEqual(CLAIMED);
    void store.complete("a", "o", TIMES);
    expect(store.claim("e", "o", TIMES)).toEqual(CLAIMED);
  });

  it("a full memory store forgets ended leases before it refuses a claim", () => {
    const { store, advance } = storeOnClock(3);
    for (const key of ["a", "b"]) void store.claim(key, "gone", TIMES);
    advance(600);
    void store.claim("c", "o", TIMES);
    advance(400);
    expect(store.claim("d", "o", TIMES)).toEqual(CLAIMED);
    expect(store.claim("e", "o", TIMES)).toEqual(CLAIMED);
    expect(store.claim("c", "p", TIMES)).toMatchObject({ state: "in_flight" });
    expect(() => store.claim("f", "o", TIMES)).toThrow("raise maxEntries");
  });

  it("a full memory store forgets the ended lease that was claimed last", () => {
    const { store, advance } = storeOnClock(1);
    void store.claim("a", "gone", TIMES);
    advance(999);
    expect(() => store.claim("b", "o", TIMES)).toThrow("raise maxEntries");
    advance(1);
    expect(store.claim("b", "o", TIMES)).toEqual(CLAIMED);
    expect(store.claim("b", "p", TIMES)).toMatchObject({ state: "in_flight" });
  });

  it("claims of a memory store end in any order", () => {
    const { store } = storeOnClock(3);
    const keys = ["a", "b", "c"];
    for (const ended of keys) {
      for (const key of keys) void store.claim(`${ended}-${key}`, "o", TIMES);
      void store.complete(`${ended}-${ended}`, "o", TIMES);
      for (const key of keys) {
        const state = key === ended ? "completed" : "in_flight";
        expect(store.claim(`${ended}-${key}`, "p", TIMES)).toMatchObject({ state });
        void store.release(`${ended}-${key}`, "o");
      }
    }
  });

  it("a full memory store forgets released takeovers and no running ones", () => {
    const { store, advance } = storeOnClock(2);
    for (const key of ["released", "running"]) void store.claim(key, "gone", TIMES);
    advance(1_000);
    for (const key of ["released", "running"]) {
      expect(store.claim(key, "o", TIMES)).toEqual({ state: "claimed", takeover: true });
    }
    void store.release("released", "o");
    expect(store.claim("new", "o", TIMES)).toEqual(CLAIMED);
    expect(store.claim("running", "p", TIMES)).toMatchObject({ state: "in_flight" });
    expect(() => store.claim("released", "o", TIMES)).toThrow("raise maxEntries");
  });
});

describe("the options of memoryStore", () => {
  it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 10_000_001, "100", null])(
    "a memory store refuses maxEntries %s",
    (maxEntries) => {
      const make = () => memoryStore({ maxEntries: maxEntries as number });
      expect(make).toThrow(ConfigurationError);
      expect(make).toThrow(expect.objectContaining({ code: "invalid_option" }) as Error);
      expect(make).toThrow("maxEntries must be a whole number from 1 to 10000000");
    },
  );

  it.each([1, 1_000, undefined])("a memory store accepts maxEntries %s", (maxEntries) => {
    const store = memoryStore({ maxEntries });
    expect(store.claim("a", "o", TIMES)).toMatchObject({ state: "claimed" });
  });

  it("a memory store with maxEntries 1 remembers one id", () => {
    const { store } = onClock((now) => memoryStore({ maxEntries: 1, now }));
    void store.complete("a", "o", TIMES);
    expect(store.claim("a", "p", TIMES)).toEqual(COMPLETED);
    void store.complete("b", "o", TIMES);
    expect(store.claim("a", "p", TIMES)).toMatchObject({ state: "claimed" });
  });

  it("a change of the system clock does not end a lease of a memory store", () => {
    vi.useFakeTimers({ toFake: ["Date", "performance"], now: NOW_MS });
    const store = memoryStore();
    void store.claim("a", "o", TIMES);
    vi.setSystemTime(NOW_MS + 3_600_000);
    expect(store.claim("a", "p", TIMES)).toMatchObject({ state: "in_flight" });
    vi.advanceTimersByTime(1_000);
    expect(store.claim("a", "p", TIMES)).toEqual({ state: "claimed", takeover: true });
  });

  it("a memory store refuses an unknown option and names its maker", () => {
    expect(() => memoryStore({ max: 5 } as object)).toThrow("max is no option of memoryStore");
  });

  it.each([5, null, "Date.now"])("a memory store refuses now: %j", (now) => {
    const make = () => memoryStore({ now } as object);
    expect(make).toThrow(ConfigurationError);
    expect(make).toThrow(expect.objectContaining({ code: "invalid_option" }) as Error);
    expect(make).toThrow("now must be a function that returns milliseconds");
  });

  it.each([Number.NaN, "soon", undefined, 1n])(
    "a memory store refuses a clock that says %s",
    (time) => {
      const make = () => memoryStore({ now: () => time } as object);
      expect(make).toThrow(expect.objectContaining({ code: "invalid_option" }) as Error);
      expect(make).toThrow("now must be a function that returns milliseconds");
    },
  );
});

it("memoryStore reserves no memory for maxEntries at the start", () => {
  const before = process.memoryUsage().heapUsed;
  const store = memoryStore({ maxEntries: 10_000_000 });
  const used = process.memoryUsage().heapUsed - before;
  expect(store.claim("a", "o", TIMES)).toMatchObject({ state: "claimed" });
  expect(used).toBeLessThan(1_000_000);
});
