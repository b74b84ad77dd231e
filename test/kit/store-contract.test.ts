import { setTimeout as wait } from "node:timers/promises";
import { expect, it } from "vitest";
import { ConfigurationError, memoryStore, type DeliveryStore } from "../../src/index.js";
import type { MaybePromise } from "../../src/common/promises.js";
import { deliveryStoreContract } from "../../kit/store-contract/delivery-store-contract.js";
import type { StoreUnderTest } from "../../kit/store-contract/contract-case.js";
import { naiveStore } from "../support/testing/naive-store.js";

function onClock(make: (now: () => number) => Omit<StoreUnderTest, "advance">): StoreUnderTest {
  let ms = 1_000_000;
  return {
    ...make(() => ms),
    advance(by) {
      ms += by;
    },
  };
}

/** Counts the stores that a contract makes and closes. */
function counting(make: () => StoreUnderTest) {
  const count = { made: 0, closed: 0 };
  const makeStore = (): StoreUnderTest => {
    count.made += 1;
    return {
      ...make(),
      close: () => {
        count.closed += 1;
      },
    };
  };
  return { count, makeStore };
}

/** The ids of the rules that a store breaks. */
async function brokenBy(
  makeStore: () => StoreUnderTest,
  options: { readonly marginMs?: number } = {},
): Promise<string[]> {
  const broken: string[] = [];
  for (const { id, run } of deliveryStoreContract(makeStore, options)) {
    await run().catch((error: unknown) => {
      expect(error).toHaveProperty("name", expect.stringMatching(/^(GatewayWebhookError|Error)$/));
      broken.push(id);
    });
  }
  return broken;
}

/** A store behind a network: each call arrives `ms` milliseconds later. */
function remote(store: DeliveryStore, ms: number): DeliveryStore {
  const later = async <T>(call: () => MaybePromise<T>) => {
    await wait(ms);
    return call();
  };
  return {
    claim: (...args) => later(() => store.claim(...args)),
    renew: (...args) => later(() => store.renew(...args)),
    complete: (...args) => later(() => store.complete(...args)),
    release: (...args) => later(() => store.release(...args)),
  };
}

it("two slow clients of one store break no rule of the DeliveryStore contract", async () => {
  const makeStore = () =>
    onClock((now) => {
      const store = naiveStore(now);
      return { store: remote(store, 0), otherClient: remote(store, 0) };
    });
  expect(await brokenBy(makeStore)).toEqual([]);
});

const cases = deliveryStoreContract(() => onClock((now) => ({ store: naiveStore(now) })));

it("each case of the store contract has its own id and title", () => {
  expect(new Set(cases.map(({ id }) => id)).size).toBe(cases.length);
  expect(new Set(cases.map(({ title }) => title)).size).toBe(cases.length);
});

it("each case of the store contract makes a store and closes it, also when it fails", async () => {
  const right = counting(() => onClock((now) => ({ store: naiveStore(now) })));
  for (const { run } of deliveryStoreContract(right.makeStore)) await run();
  expect(right.count).toEqual({ made: cases.length, closed: cases.length });
  const wrong = counting(() => onClock((now) => ({ store: naiveStore(now, "forgets the lease") })));
  const [first] = deliveryStoreContract(wrong.makeStore);
  await expect(first?.run()).rejects.toThrow("k must be in flight for b");
  expect(wrong.count).toEqual({ made: 1, closed: 1 });
});

it("a case of the store contract waits if the store's clock cannot be moved", async () => {
  const now = () => performance.now();
  const contract = deliveryStoreContract(() => ({ store: naiveStore(now) }), { leaseMs: 100 });
  const startedAt = now();
  await contract.find(({ id }) => id === "takeover")?.run();
  expect(now() - startedAt).toBeGreaterThanOrEqual(129);
});

it("a timed case of the store contract is repeated with a longer lease after slow calls", async () => {
  const now = () => performance.now();
  const contract = deliveryStoreContract(() => ({ store: remote(naiveStore(now), 40) }), {
    leaseMs: 100,
  });
  const timed = ["takeover", "renew", "claim-again-holds", "retry-after"];
  const runs = contract.filter(({ id }) => timed.includes(id)).map(({ run }) => run());
  expect(await Promise.all(runs)).toHaveLength(timed.length);
});

it.each([0, 400])("a store that breaks a rule after %i ms has no second chance", async (ms) => {
  const wrong = counting(() => ({
    store: remote(
      naiveStore(() => performance.now(), "renews for anyone"),
      ms,
    ),
  }));
  const contract = deliveryStoreContract(wrong.makeStore, { leaseMs: 100 });
  const fenced = contract.find(({ id }) => id === "owners-apart");
  await expect(fenced?.run()).rejects.toThrow(
    /^renew of k by A must be false, but the store answered true/,
  );
  expect(wrong.count).toEqual({ made: 1, closed: 1 });
});

it("a timed case of the store contract says when the calls were too slow for every lease", async () => {
  const store = () =>
    remote(
      naiveStore(() => 0),
      500,
    );
  const contract = deliveryStoreContract(() => ({ store: store() }), { leaseMs: 100 });
  const takeover = contract.find(({ id }) => id === "takeover");
  await expect(takeover?.run()).rejects.toThrow(
    /^k must be granted to b, .* \(the calls took \d+ ms, .* lease of 1600 ms: give a longer leaseMs\)$/,
  );
});

it("the cases of the store contract that need days are not judged, and are skipped, without a clock", async () => {
  const { count, makeStore } = counting(() => ({ store: naiveStore(() => performance.now()) }));
  const notJudged = [];
  for (const { id, run } of deliveryStoreContract(makeStore, { leaseMs: 100 })) {
    if (!id.endsWith("-days")) continue;
    const skipped: string[] = [];
    const result = await run({ skip: (reason) => skipped.push(reason) });
    expect(result.result).toBe("not_judged");
    expect(skipped).toEqual([result.reason]);
    expect(await run()).toEqual(result);
    notJudged.push(id);
  }
  expect(notJudged).toEqual(["lease-days", "retention-days", "claims-days", "takeover-days"]);
  expect(count).toEqual({ made: 8, closed: 8 });
});

it("a sample of sequences is named by its seed, with which it can be repeated", async () => {
  const errorOf = async (options: { seed?: number; sequences?: number }) => {
    const makeStore = () => onClock((now) => ({ store: naiveStore(now, "forgets the lease") }));
    const contract = deliveryStoreContract(makeStore, options);
    const run = contract.find(({ id }) => id === "sequences")?.run;
    return run?.().then(String, String);
  };
  const given = await errorOf({ seed: 7, sequences: 300 });
  expect(given).toMatch(/: the answer must be .* \(seed 7\), but the store/);
  expect(await errorOf({ seed: 7, sequences: 300 })).toBe(given);
  const drawn = await errorOf({ sequences: 300 });
  const seed = Number(/\(seed (\d+)\)/.exec(drawn ?? "")?.[1]);
  expect(await errorOf({ seed, sequences: 300 })).toBe(drawn);
  expect(await errorOf({})).not.toContain("seed");
});

it("the run of a case takes no parameter that a test runner could take for a callback", () => {
  expect(cases.map(({ run }) => run.length)).toEqual(cases.map(() => 0));
});

it.each<[object, string]>([
  [{ leaseMs: 99 }, "leaseMs"],
  [{ sequences: 0 }, "sequences"],
  [{ seed: -1 }, "seed"],
  [{ lease: 1 }, "is no option"],
])("deliveryStoreContract refuses the options %j", (options, message) => {
  const make = () => deliveryStoreContract(() => ({ store: naiveStore(() => 0) }), options);
  expect(make).toThrow(ConfigurationError);
  expect(make).toThrow(message);
});

it("deliveryStoreContract refuses something other than a function", () => {
  expect(() => deliveryStoreContract(undefined as never)).toThrow("makeStore must be a function");
});

const MARGIN_MS = 2_000;

/** A store whose leases end later than they say, as those of a store for hosts with different clocks. */
function laxStore(now: () => number): DeliveryStore {
  const store = memoryStore({ now });
  return {
    async claim(key, owner, { leaseMs, retentionMs }) {
      const result = await store.claim(key, owner, { leaseMs: leaseMs + MARGIN_MS, retentionMs });
      if (result.state !== "in_flight") return result;
      return { ...result, retryAfterMs: Math.min(result.retryAfterMs, leaseMs) };
    },
    renew: (key, owner, { leaseMs }) => store.renew(key, owner, { leaseMs: leaseMs + MARGIN_MS }),
    complete: (key, owner, options) => store.complete(key, owner, options),
    release: (key, owner) => store.release(key, owner),
  };
}

it("a store with a margin after each lease keeps the contract that knows of the margin", async () => {
  const makeStore = () => onClock((now) => ({ store: laxStore(now) }));
  expect(await brokenBy(makeStore, { marginMs: MARGIN_MS })).toEqual([]);
  expect((await brokenBy(makeStore)).length).toBeGreaterThan(5);
});
