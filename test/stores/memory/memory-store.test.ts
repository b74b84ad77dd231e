import { describe, expect, it, vi } from "vitest";
import { ConfigurationError, memoryStore, type DeliveryStore } from "../../../src/index.js";
import { NOW_MS } from "../../support/deliveries.js";
import { deliveryStoreContract } from "../../../kit/store-contract/delivery-store-contract.js";
import { verbsOf } from "../../support/stores/store-cases.js";
import { runCase } from "../../support/stores/test-store.js";

const TIMES = { leaseMs: 1_000, retentionMs: 10_000 };

function onClock(make: (now: () => number) => DeliveryStore) {
  let ms = 1_000_000;
  const store = make(() => ms);
  return {
    store,
    calls: verbsOf(store),
    advance: (by: number) => {
      ms += by;
    },
  };
}

const contract = deliveryStoreContract(() => onClock((now) => memoryStore({ now })));
it.each(contract)("memoryStore keeps the DeliveryStore contract: $id: $title", runCase);

describe("the bound of memoryStore", () => {
  const storeOnClock = (maxEntries?: number) => {
    const made = onClock((now) => memoryStore({ maxEntries, now }));
    const refuses = (key: string) =>
      expect(() => made.store.claim(key, "o", TIMES)).toThrow("raise maxEntries");
    return { ...made, refuses };
  };

  it.each([1, 3])(
    "a memory store of maxEntries %i forgets the id completed longest ago",
    async (maxEntries) => {
      const { claimed, complete, completed } = storeOnClock(maxEntries).calls;
      const [first = "", ...others] = ["a", "b", "c", "d"].slice(0, maxEntries + 1);
      for (const key of [first, ...others]) {
        await claimed(key, "o");
        await complete(key, "o");
      }
      for (const key of others) await completed(key, "p");
      await claimed(first, "p");
    },
  );

  it("a claim of a completed id does not keep it for longer", async () => {
    const { claimed, complete, completed } = storeOnClock(2).calls;
    for (const key of ["a", "b"]) await complete(key, "o");
    await completed("a", "p");
    await complete("c", "o");
    await claimed("a", "p");
    await completed("b", "p");
  });

  it("a memory store ends a lease to the millisecond", () => {
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

  it("a memory store never evicts a claim in flight", async () => {
    const { claimed, complete, inFlight, renewed } = storeOnClock(10).calls;
    await claimed("running", "o");
    for (let n = 0; n < 1_000; n++) {
      await claimed(`handled-${n}`, "p");
      await complete(`handled-${n}`, "p");
    }
    await inFlight("running", "q");
    await renewed("running", "o", true);
  });

  it("a memory store full of claims in flight refuses one more", async () => {
    const { store, refuses, calls } = storeOnClock(3);
    for (const key of ["a", "b", "c"]) await calls.claimed(key, "o");
    refuses("d");
    await calls.claimed("a", "o");
    const full = { name: "GatewayWebhookError", code: "memory_store_full" };
    expect(() => store.claim("d", "o", TIMES)).toThrow(expect.objectContaining(full) as Error);
    for (const key of ["a", "b", "c"]) await calls.inFlight(key, "p");
    await calls.release("b", "o");
    await calls.claimed("d", "o");
    await calls.complete("a", "o");
    await calls.claimed("e", "o");
  });

  it("a full memory store forgets ended leases first", async () => {
    const { refuses, advance, calls } = storeOnClock(3);
    for (const key of ["a", "b"]) await calls.leased(key, "gone");
    advance(600);
    await calls.leased("c", "o");
    advance(400);
    for (const key of ["d", "e"]) await calls.claimed(key, "o");
    await calls.inFlight("c", "p");
    refuses("f");
  });

  it("a full memory store forgets the ended lease claimed last", async () => {
    const { refuses, advance, calls } = storeOnClock(1);
    await calls.leased("a", "gone");
    advance(999);
    refuses("b");
    advance(1);
    await calls.claimed("b", "o");
    await calls.inFlight("b", "p");
  });

  it("claims of a memory store end in any order", async () => {
    const { claimed, complete, completed, inFlight, release } = storeOnClock(3).calls;
    const keys = ["a", "b", "c"];
    for (const ended of keys) {
      for (const key of keys) await claimed(`${ended}-${key}`, "o");
      await complete(`${ended}-${ended}`, "o");
      for (const key of keys) {
        await (key === ended ? completed : inFlight)(`${ended}-${key}`, "p");
        await release(`${ended}-${key}`, "o");
      }
    }
  });

  it("a full memory store forgets released takeovers and no running ones", async () => {
    const { refuses, advance, calls } = storeOnClock(2);
    for (const key of ["released", "running"]) await calls.leased(key, "gone");
    advance(1_000);
    for (const key of ["released", "running"]) await calls.claimed(key, "o", true);
    await calls.release("released", "o");
    await calls.claimed("new", "o");
    await calls.inFlight("running", "p");
    refuses("released");
  });
});

describe("the options of memoryStore", () => {
  const bounds = "maxEntries must be a whole number from 1 to 10000000";
  const clock = "now must be a function that returns milliseconds";

  it.each<[options: object, message: string]>([
    ...[0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 10_000_001, "100", null].map(
      (maxEntries): [object, string] => [{ maxEntries }, bounds],
    ),
    ...[5, null, "Date.now"].map((now): [object, string] => [{ now }, clock]),
    ...[Number.NaN, "soon", undefined, 1n].map((time): [object, string] => [
      { now: () => time },
      clock,
    ]),
  ])("memoryStore refuses the options %o: %s", (options, message) => {
    const make = () => memoryStore(options);
    expect(make).toThrow(ConfigurationError);
    expect(make).toThrow(expect.objectContaining({ code: "invalid_option" }) as Error);
    expect(make).toThrow(message);
  });

  it("a memory store says that it is in memory, so that nothing is recovered into it unasked", () => {
    expect(memoryStore().isInMemory).toBe(true);
  });

  it("a memory store refuses an unknown option and names its maker", () => {
    expect(() => memoryStore({ max: 5 } as object)).toThrow("max is no option of memoryStore");
  });

  it.each([1, 1_000, undefined])("a memory store accepts maxEntries %s", (maxEntries) => {
    const store = memoryStore({ maxEntries });
    expect(store.claim("a", "o", TIMES)).toMatchObject({ state: "claimed" });
  });

  it("a change of the system clock ends no lease of a memory store", () => {
    vi.useFakeTimers({ toFake: ["Date", "performance"], now: NOW_MS });
    const store = memoryStore();
    void store.claim("a", "o", TIMES);
    vi.setSystemTime(NOW_MS + 3_600_000);
    expect(store.claim("a", "p", TIMES)).toMatchObject({ state: "in_flight" });
    vi.advanceTimersByTime(1_000);
    expect(store.claim("a", "p", TIMES)).toEqual({ state: "claimed", takeover: true });
  });
});

it("memoryStore reserves no memory for maxEntries at the start", () => {
  const before = process.memoryUsage().heapUsed;
  const store = memoryStore({ maxEntries: 10_000_000 });
  const used = process.memoryUsage().heapUsed - before;
  expect(store.claim("a", "o", TIMES)).toMatchObject({ state: "claimed" });
  expect(used).toBeLessThan(1_000_000);
});
