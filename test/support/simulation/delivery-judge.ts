import type { ClaimResult, DeliveryStore, WebhookResponse } from "../../../src/index.js";
import type {
  RenewOptions,
  CompleteOptions,
  ClaimOptions,
} from "../../../src/stores/delivery-store.js";

/** A synchronous store that the judge observes. */
interface ObservedStore {
  claim(key: string, owner: string, options: ClaimOptions): ClaimResult;
  renew(key: string, owner: string, options: RenewOptions): boolean;
  complete(key: string, owner: string, options: CompleteOptions): void;
  release(key: string, owner: string): void;
}

/** Watches deliveries and records broken rules. */
export interface Judge {
  /** Forwards calls, and keeps its own record of the owner and end of each lease. */
  readonly store: ObservedStore;
  /** A handler is called. A run must not begin during or after another run whose lease was not lost. */
  readonly startRun: (id: string) => { readonly end: (succeeded: boolean) => void };
  /** The gateway gets an answer. Acknowledged means handled, and a delivery in flight is never acknowledged. */
  readonly answered: (id: string, response: WebhookResponse) => void;
  readonly deliveries: () => string[];
  readonly blame: (fault: string) => void;
  readonly assertNoFault: () => void;
}

interface Run {
  state: "running" | "succeeded" | "failed";
  leaseLost: boolean;
}

interface Delivery {
  lease: { owner: string; until: number } | undefined;
  /** Whether a lease has ended without a result, and no completion has followed. */
  isLeftOpen: boolean;
  readonly runs: Run[];
}

/** Makes a judge of `inner`. It knows leases from the clock and not from the store. */
export function createJudge(inner: DeliveryStore, now: () => number, leaseMs: number): Judge {
  const deliveries = new Map<string, Delivery>();
  const faults: string[] = [];
  const find = (id: string): Delivery => {
    const known = deliveries.get(id) ?? { lease: undefined, isLeftOpen: false, runs: [] };
    deliveries.set(id, known);
    return known;
  };

  const store: ObservedStore = {
    claim(key, owner, times) {
      const result = inner.claim(key, owner, times) as ClaimResult;
      if (result.state !== "claimed") return result;
      const delivery = find(key);
      const { lease, runs } = delivery;
      if (lease !== undefined && lease.until <= now()) {
        for (const run of runs) run.leaseLost = true;
        delivery.isLeftOpen = true;
      }
      if (result.takeover !== delivery.isLeftOpen) {
        faults.push(`${key} is claimed as ${result.takeover ? "a" : "no"} takeover`);
      }
      delivery.lease = { owner, until: now() + leaseMs };
      return result;
    },
    renew(key, owner, options) {
      const held = inner.renew(key, owner, options) as boolean;
      const { lease } = find(key);
      if (held && lease?.owner === owner) lease.until = now() + leaseMs;
      return held;
    },
    complete(key, owner, options) {
      void inner.complete(key, owner, options);
      const delivery = find(key);
      delivery.lease = undefined;
      delivery.isLeftOpen = false;
    },
    release(key, owner) {
      void inner.release(key, owner);
      const delivery = find(key);
      if (delivery.lease?.owner === owner) delivery.lease = undefined;
    },
  };

  return {
    store,
    startRun(id) {
      const { runs } = find(id);
      const other = runs.find(({ state, leaseLost }) => state !== "failed" && !leaseLost);
      if (other !== undefined) {
        faults.push(`${id} runs again, although a run that kept its lease has ${other.state}`);
      }
      const run: Run = { state: "running", leaseLost: false };
      runs.push(run);
      return {
        end(succeeded) {
          run.state = succeeded ? "succeeded" : "failed";
        },
      };
    },
    answered(id, { status, outcome }) {
      const isAcknowledged = status >= 200 && status < 300;
      if (isAcknowledged && !find(id).runs.some(({ state }) => state === "succeeded")) {
        faults.push(`${id} is acknowledged as ${outcome}, but no run has succeeded`);
      }
      if (outcome === "in_flight" && status !== 409) faults.push(`${id} in flight is ${status}`);
      if (outcome === "internal_error") faults.push(`${id} met a bug`);
    },
    deliveries: () => [...deliveries.keys()],
    blame: (fault) => faults.push(fault),
    assertNoFault() {
      if (faults.length > 0) throw new Error(faults.join("; "));
    },
  };
}
