import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { compactMemoryStore, memoryStore, type DeliveryStore } from "../../../src/index.js";

const UUID = "0f8fad5b-d9cb-469f-a165-70867728950e";
const KEYS = [
  UUID,
  UUID.toUpperCase(),
  UUID.replaceAll("-", "_"),
  "0f8fad5b-d9cb-469f-a165-70867728950f",
  "1f8fad5b-d9cb-469f-a165-70867728950e",
  "0f8fad5b-d9cb-469f-0e95-70867728a165",
  "00000000-0000-0000-0000-000000000000",
  "00000000-0000-0000-0000-000000000001",
  "ffffffff-ffff-ffff-ffff-ffffffffffff",
  ...["__proto__", "constructor", "f", "F"],
];

interface Step {
  readonly verb: keyof DeliveryStore | "handle" | "wait";
  readonly key: string;
  readonly owner: string;
  readonly ms: number;
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    verb: fc.constantFrom<Step["verb"][]>(
      ...(["claim", "complete", "handle", "handle", "handle"] as const),
      ...(["renew", "release", "wait", "wait"] as const),
    ),
    key: fc.constantFrom(...KEYS),
    owner: fc.constantFrom("a", "b"),
    ms: fc.constantFrom(1, 250, 999, 1_000, 1_001, 3_000, 7_500),
  }),
  { minLength: 20, maxLength: 150, size: "max" },
);

/**
 * The contract and the bound in their simplest form: a list in the order of completion. `countsAgain`:
 * whether an id that is completed again after its retention counts twice towards the bound.
 */
function modelStore(maxEntries: number, now: () => number, countsAgain: boolean): DeliveryStore {
  const leases = new Map<string, { owner: string; until: number; takeover: boolean }>();
  let completed: { key: string | undefined; until: number }[] = [];
  const isCompleted = (key: string) =>
    completed.some((entry) => entry.key === key && entry.until > now());

  return {
    claim(key, owner, { leaseMs }) {
      if (isCompleted(key)) return { state: "completed" };
      const lease = leases.get(key);
      const isHeld = lease !== undefined && lease.until > now();
      if (isHeld && lease.owner !== owner) {
        return { state: "in_flight", retryAfterMs: lease.until - now() };
      }
      if (lease === undefined && leases.size >= maxEntries) {
        for (const [other, { until }] of leases) if (until <= now()) leases.delete(other);
        if (leases.size >= maxEntries) throw new Error("full");
      }
      const takeover = lease !== undefined && (lease.takeover || !isHeld);
      leases.set(key, { owner, until: now() + leaseMs, takeover });
      return { state: "claimed", takeover };
    },
    renew(key, owner, { leaseMs }) {
      const lease = leases.get(key);
      if (lease?.owner !== owner || lease.until <= now()) return false;
      lease.until = now() + leaseMs;
      return true;
    },
    complete(key, _owner, { retentionMs }) {
      leases.delete(key);
      if (isCompleted(key)) return;
      if (countsAgain) {
        for (const entry of completed) if (entry.key === key) entry.key = undefined;
      } else {
        completed = completed.filter((entry) => entry.key !== key);
      }
      completed.push({ key, until: now() + retentionMs });
      completed = completed.slice(-maxEntries);
    },
    release(key, owner) {
      const lease = leases.get(key);
      if (lease?.owner !== owner) return;
      if (lease.takeover) lease.until = now();
      else leases.delete(key);
    },
  };
}

/** Applies a step to a store. Returns its result as text, or "full" if the store is full. */
function apply(store: DeliveryStore, { verb, key, owner, ms }: Step): string {
  const claim = () => store.claim(key, owner, { leaseMs: ms, retentionMs: ms });
  try {
    switch (verb) {
      case "claim":
        return JSON.stringify(claim());
      case "renew":
        return JSON.stringify(store.renew(key, owner, { leaseMs: ms }));
      case "complete":
      case "handle": {
        const claimed = verb === "handle" ? JSON.stringify(claim()) : "";
        void store.complete(key, owner, { retentionMs: ms });
        return claimed;
      }
      case "release":
        void store.release(key, owner);
        return "";
      case "wait":
        return "";
    }
  } catch {
    return "full";
  }
}

function check(makeStore: typeof memoryStore, countsAgain: boolean): Set<string> {
  const seen = new Set<string>();
  const property = fc.property(steps, fc.integer({ min: 1, max: 9 }), (given, maxEntries) => {
    let ms = 500;
    const now = () => ms;
    const store = makeStore({ maxEntries, now });
    const model = modelStore(maxEntries, now, countsAgain);
    for (const step of given) {
      if (step.verb === "wait") ms += step.ms;
      const answer = apply(store, step);
      expect(answer).toBe(apply(model, step));
      seen.add(answer.replace(/\d+/, "0"));
    }
    for (const key of KEYS) {
      const lookup: Step = { verb: "claim", key, owner: "c", ms: 1 };
      expect(apply(store, lookup)).toBe(apply(model, lookup));
    }
  });
  fc.assert(property, { seed: 20_261_121, numRuns: 600 });
  return seen;
}

/** All results that a store can give. The random steps must reach each of them. */
const RESULTS = [
  ...["", "true", "false", "full", '{"state":"completed"}'],
  ...['{"state":"claimed","takeover":false}', '{"state":"claimed","takeover":true}'],
  '{"state":"in_flight","retryAfterMs":0}',
];

afterEach(() => {
  vi.restoreAllMocks();
});

describe("random steps give the same results as a plain list", () => {
  it("memoryStore equals a plain list in every random step", () => {
    expect([...check(memoryStore, false)].sort()).toEqual([...RESULTS].sort());
  });

  it("compactMemoryStore equals a plain list in every random step", () => {
    expect([...check(compactMemoryStore, true)].sort()).toEqual([...RESULTS].sort());
  });

  it.each([
    ["all ids have the same hash", 0],
    ["ids with the same sum of digits have the same hash", 2],
  ])("compactMemoryStore equals a plain list where %s", (_what, word) => {
    vi.spyOn(crypto, "getRandomValues").mockImplementation((words) => {
      (words as Uint32Array).fill(word);
      return words;
    });
    expect([...check(compactMemoryStore, true)].sort()).toEqual([...RESULTS].sort());
  });
});
