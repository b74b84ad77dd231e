import { beforeEach, expect, it, vi } from "vitest";
import { memoryStore, type ClaimResult, type DeliveryStore } from "../../src/index.js";
import { naiveStore, type StoreMistake } from "../support/testing/naive-store.js";
import { LEASE_MS, playPlans, type Simulation } from "./simulation.js";

type MakeStore = (now: () => number) => DeliveryStore;

interface Delivery {
  lease: { owner: string; until: number } | undefined;
  /** Whether a lease has ended without a result, and no completion has followed. */
  isLeftOpen: boolean;
  readonly runs: { state: "running" | "succeeded" | "failed"; leaseLost: boolean }[];
}

/**
 * Receivers on a store of this kind, and their judge, who knows leases from the clock and not from the store. A run must
 * not begin during or after another run whose lease was not lost. Acknowledged means handled, and a delivery in flight
 * is never acknowledged.
 */
const leases =
  (makeStore: MakeStore): Simulation =>
  (blame) => {
    const now = () => performance.now();
    const inner = makeStore(now);
    const deliveries = new Map<string, Delivery>();
    const find = (id: string): Delivery => {
      const known = deliveries.get(id) ?? { lease: undefined, isLeftOpen: false, runs: [] };
      deliveries.set(id, known);
      return known;
    };
    const judged: DeliveryStore = {
      claim(key, owner, times) {
        const result = inner.claim(key, owner, times) as ClaimResult;
        if (result.state !== "claimed") return result;
        const delivery = find(key);
        if (delivery.lease !== undefined && delivery.lease.until <= now()) {
          for (const run of delivery.runs) run.leaseLost = true;
          delivery.isLeftOpen = true;
        }
        if (result.takeover !== delivery.isLeftOpen) {
          blame(`${key} is claimed as ${result.takeover ? "a" : "no"} takeover`);
        }
        delivery.lease = { owner, until: now() + LEASE_MS };
        return result;
      },
      renew(key, owner, options) {
        const held = inner.renew(key, owner, options) as boolean;
        const { lease } = find(key);
        if (held && lease?.owner === owner) lease.until = now() + LEASE_MS;
        return held;
      },
      complete(key, owner, options) {
        void inner.complete(key, owner, options);
        Object.assign(find(key), { lease: undefined, isLeftOpen: false });
      },
      release(key, owner) {
        void inner.release(key, owner);
        const delivery = find(key);
        if (delivery.lease?.owner === owner) delivery.lease = undefined;
      },
    };
    return {
      start: ({ call, run }) => ({
        store: {
          claim: (...given) => call("claim", () => judged.claim(...given) as ClaimResult),
          renew: (...given) => call("renew", () => judged.renew(...given) as boolean),
          complete: (...given) => call("complete", () => void judged.complete(...given)),
          release: (...given) => call("release", () => void judged.release(...given)),
        },
        handler({ id }) {
          const { runs } = find(id);
          const other = runs.find(({ state, leaseLost }) => state !== "failed" && !leaseLost);
          if (other !== undefined) {
            blame(`${id} runs again, although a run that kept its lease has ${other.state}`);
          }
          const begun: Delivery["runs"][number] = { state: "running", leaseLost: false };
          runs.push(begun);
          return run((end) => {
            begun.state = end === "succeeds" || end === "discards" ? "succeeded" : "failed";
          });
        },
      }),
      answered(id, { status, outcome }) {
        const isAcknowledged = status >= 200 && status < 300;
        if (isAcknowledged && !find(id).runs.some(({ state }) => state === "succeeded")) {
          blame(`${id} is acknowledged as ${outcome}, but no run has succeeded`);
        }
        if (outcome === "in_flight" && status !== 409) blame(`${id} in flight is ${status}`);
      },
    };
  };

beforeEach(() =>
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] }),
);

it.each<[string, MakeStore]>([
  ["the memory store", (now) => memoryStore({ maxEntries: 100, now })],
  ["another store that keeps the contract", (now) => naiveStore(now)],
])("a delivery is handled once or sent again in any order on %s", async (_which, makeStore) => {
  const parameters = { seed: 20_251_009, numRuns: 400 };
  const { broken, outcomes } = await playPlans(leases(makeStore), parameters);
  expect(broken).toBeUndefined();
  // The plans reach every outcome of a genuine delivery.
  expect(outcomes).toEqual([
    "discarded",
    "duplicate",
    "handled",
    "handler_failed",
    "handler_timeout",
    "in_flight",
    "retry_later",
    "store_unavailable",
  ]);
});

// Some mistakes show in one plan of a thousand. Each seed makes such a plan early.
it.each<[StoreMistake, string, number]>([
  ["forgets the lease", "runs again", 43],
  ["answers completed for what is in flight", "no run has succeeded", 43],
  ["releases for anyone", "runs again", 10],
  ["forgets the completion", "runs again", 43],
  ["undoes the completion on release", "runs again", 43],
  ["never ends a lease", "is never handled", 43],
  ["hides a takeover", "is claimed as no takeover", 43],
  ["forgets a takeover that is released", "is claimed as no takeover", 43],
])("the model detects a store that %s", async (mistake, fault, seed) => {
  const simulation = leases((now) => naiveStore(now, mistake));
  const { broken } = await playPlans(simulation, { seed, numRuns: 200 });
  expect(broken).toContain(fault);
});
