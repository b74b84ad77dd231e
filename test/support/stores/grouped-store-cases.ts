import { expect, it } from "vitest";
import type { DeliveryStore } from "../../../src/index.js";
import { alarmReceiver } from "../alarm-receiver.js";
import { delivery } from "../deliveries.js";

const TIMES = { leaseMs: 30_000, retentionMs: 3_600_000 };
const CLAIMED = { state: "claimed", takeover: false };
const IN_FLIGHT = { state: "in_flight" };

/** What the cases need of an engine. */
export interface GroupedEngine {
  /** A store with connections of its own, on the same table as all others. */
  readonly makeStore: () => DeliveryStore;
  /** Locks rows of keys, which are not in the table, until the returned function is called. */
  readonly lock: (keys: readonly string[]) => Promise<() => Promise<void>>;
  /** How many deadlocks the server has ended. */
  readonly deadlocks: () => Promise<number>;
  /** Seconds until the lease and the retention of each key end. The lease is null for a completed key. */
  readonly times: (keys: readonly string[]) => Promise<{ lease: number | null; kept: number }[]>;
}

/** A key that the engine refuses. */
export interface PoisonedKey {
  readonly why: string;
  readonly key: string;
  /** Properties of the error. */
  readonly reason: object;
}

/** `count` keys in descending order, at most 800. */
export function keysOf(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${name}-${String(999 - index)}`);
}

/** What calls in one group must not share. `engine` is called when a case runs. */
export function groupedStoreCases(
  engine: () => GroupedEngine,
  poisons: readonly PoisonedKey[],
): void {
  it.each(poisons)("a key that $why fails alone", async ({ why, key: poison, reason }) => {
    const store = engine().makeStore();
    const keys = keysOf(`near ${why}`, 20);
    for (const verb of ["claim", "complete"] as const) {
      const calls = [keys[0], poison, ...keys.slice(1)].map(async (key = "") =>
        store[verb](key, key.slice(0, 20), TIMES),
      );
      const [first, failed, ...others] = await Promise.allSettled(calls);
      expect(failed).toMatchObject({ status: "rejected", reason });
      const value = verb === "claim" ? CLAIMED : undefined;
      expect([first, ...others]).toEqual(keys.map(() => ({ status: "fulfilled", value })));
    }
    expect(await store.claim(keys[5] ?? "", "b", TIMES)).toEqual({ state: "completed" });
  });

  it("of two claims for one key in one turn one is granted, and both completions are done", async () => {
    const store = engine().makeStore();
    const keys = keysOf("twice", 10);
    const both = [...keys, ...keys];
    const claims = await Promise.all(
      both.map(async (key, index) => store.claim(key, `owner-${String(index)}`, TIMES)),
    );
    expect(claims.slice(0, 10)).toEqual(keys.map(() => CLAIMED));
    expect(claims.slice(10)).toMatchObject(keys.map(() => IN_FLIGHT));
    await Promise.all(both.map(async (key) => store.complete(key, "a", TIMES)));
    for (const key of keys) {
      expect(await store.claim(key, "b", TIMES)).toEqual({ state: "completed" });
    }
  });

  it("two processes that send the same keys in opposite orders never wait for each other in a circle", async () => {
    const stores = [1, 2].map(() => engine().makeStore());
    for (let round = 0; round < 20; round += 1) {
      const keys = keysOf(`order-${String(round)}`, 60);
      const inOrders = <T>(call: (store: DeliveryStore, key: string, index: number) => T): T[] =>
        stores.flatMap((store, index) =>
          (index === 0 ? keys : [...keys].reverse()).map((key) => call(store, key, index)),
        );
      const states = await Promise.all(
        inOrders(async (store, key, index) => {
          return (await store.claim(key, `${key}/${String(index)}`, TIMES)).state;
        }),
      );
      expect(states.filter((state) => state === "claimed")).toHaveLength(keys.length);
      await Promise.all(inOrders(async (store, key) => store.complete(key, key, TIMES)));
    }
    expect(await engine().deadlocks()).toBe(0);
  });

  it.each(["claim", "complete"] as const)(
    "a row that another transaction holds delays only calls for its own key: %s",
    async (verb) => {
      const store = engine().makeStore();
      const [held = "", ...others] = keysOf(`held-${verb}`, 50);
      const unlock = await engine().lock([held]);
      let isHeld = true;
      // Not the first call of the turn, which is sent alone.
      const calls = others.map(async (key) => store[verb](key, key, TIMES));
      const waiting = (async () => store[verb](held, held, TIMES))();
      void waiting.then(() => (isHeld = false));
      await Promise.all(calls);
      const copy = (async () => store[verb](held, "copy", TIMES))();
      await store[verb](`${held} later`, "a", TIMES);
      expect(isHeld).toBe(true);
      await unlock();
      expect(await waiting).toEqual(verb === "claim" ? CLAIMED : undefined);
      if (verb === "claim") expect(await copy).toMatchObject(IN_FLIGHT);
      else expect(await store.claim(held, "late", TIMES)).toEqual({ state: "completed" });
    },
  );

  it("while five rows are locked, calls for all other rows go on", async () => {
    const store = engine().makeStore();
    const locked = keysOf("five", 5);
    const unlock = await engine().lock(locked);
    const waiting = locked.map(async (key) => store.claim(key, key, TIMES));
    for (let turn = 0; turn < 3; turn += 1) {
      const keys = keysOf(`beside-five-${String(turn)}`, 40);
      const states = await Promise.all(keys.map(async (key) => store.claim(key, key, TIMES)));
      expect(states).toEqual(keys.map(() => CLAIMED));
    }
    await unlock();
    expect(await Promise.all(waiting)).toEqual(locked.map(() => CLAIMED));
  });

  it("each call keeps its own lease and retention, also with two receivers on one store", async () => {
    const store = engine().makeStore();
    const SHORT = { leaseMs: 10_000, retentionMs: 300_000_000 };
    const LONG = { leaseMs: 90_000, retentionMs: 900_000_000 };
    const timesAt = (index: number) => (index % 2 === 0 ? SHORT : LONG);
    const receivers = [SHORT, LONG].map((times) =>
      alarmReceiver(() => new Promise(() => undefined), { ...times, store }),
    );
    const ids = keysOf("own-times", 20);
    const requests = await Promise.all(ids.map((id) => delivery({ id })));
    requests.forEach((request, index) => void receivers[index % 2]?.receive(request));

    const rounded = async () => {
      const times = await engine().times(ids);
      return times.map(({ lease, kept }) => ({
        leaseMs: lease === null ? null : Math.ceil(lease / 10) * 10_000,
        retentionMs: Math.ceil(kept / 1_000) * 1_000_000,
      }));
    };
    await expect.poll(async () => (await rounded()).length).toBe(ids.length);
    expect(await rounded()).toEqual(ids.map((_, index) => timesAt(index)));
    await Promise.all(ids.map(async (key, index) => store.complete(key, "", timesAt(index + 1))));
    expect(await rounded()).toEqual(
      ids.map((_, index) => ({ leaseMs: null, retentionMs: timesAt(index + 1).retentionMs })),
    );
  });
}
