import { GatewayWebhookError } from "../../src/common/errors.js";
import type { MaybePromise } from "../../src/common/promises.js";
import type { ClaimResult, DeliveryStore } from "../../src/stores/delivery-store.js";
import type { StoreUnderTest } from "./contract-case.js";
import type { Checks, OnClock } from "./run-rule.js";

/** Checks of the contract of `DeliveryStore`. */
export type StoreChecks = Checks<string, StoreVerbs>;

const SECOND_MS = 1_000;
export const DAY_MS = 86_400_000;
export const MONTH_MS = 30 * DAY_MS;
/** More than a year. */
export const LONG_DAYS = 400;
/** A lease or retention that outlasts the case, however slow the store is. */
export const LONG_MS = 3_600_000;

/** The methods of a store, with default times and an expectation on each answer. */
export interface StoreVerbs {
  /** The length of a lease that ends within the case. */
  readonly leaseMs: number;
  /** Whether the clock is moved. Otherwise the case waits. */
  readonly movesClock: boolean;
  /** The same data through the other client. */
  readonly other: StoreVerbs;
  /** The methods without expectations. */
  readonly methods: DeliveryStore;
  /** `forMs`: the length of the lease. By default it outlasts the case, here and below. */
  readonly claim: (key: string, owner: string, forMs?: number) => Promise<ClaimResult>;
  readonly claimed: (key: string, owner: string, takeover?: boolean) => Promise<void>;
  /** Like `claimed`, with a lease of `leaseMs` that is remembered for `retentionMs`. */
  readonly leased: (
    key: string,
    owner: string,
    takeover?: boolean,
    retentionMs?: number,
  ) => Promise<void>;
  /** `withinMs` and `atLeastMs`: the bounds of `retryAfterMs`, the upper one rounded up to a second. */
  readonly inFlight: (
    key: string,
    owner: string,
    withinMs?: number,
    atLeastMs?: number,
  ) => Promise<void>;
  readonly completed: (key: string, owner: string) => Promise<void>;
  readonly renewed: (key: string, owner: string, held: boolean, forMs?: number) => Promise<void>;
  readonly complete: (key: string, owner: string, retentionMs?: number) => Promise<void>;
  readonly release: (key: string, owner: string) => Promise<void>;
  /** Moves the clock forward by a number of leases. */
  readonly advance: (leases: number) => Promise<void>;
  /** Moves the clock forward by a number of days. */
  readonly advanceDays: (days: number) => Promise<void>;
}

/** Throws an error with the code `contract_broken` with `rule` and the store's answer if `holds` is false. */
export function ensure(holds: boolean, rule: string, got: unknown): void {
  if (holds) return;
  const message = `${rule}, but the store answered ${JSON.stringify(got)}`;
  throw new GatewayWebhookError("contract_broken", message);
}

/** The methods of a store and of its other client. */
export function storeVerbs(
  { store, otherClient = store, advance, movesClock }: OnClock<StoreUnderTest>,
  leaseMs: number,
): StoreVerbs {
  const clock = { leaseMs, movesClock, ...clockOf(advance, leaseMs) };
  const first: StoreVerbs = verbsOf(store, clock, () => second);
  const second: StoreVerbs = verbsOf(otherClient, clock, () => first);
  return first;
}

/** Moves a clock by units and by days. */
export function clockOf(advance: (ms: number) => MaybePromise<void>, unitMs: number) {
  const advanceBy = (ms: number) => async (count: number) => {
    await advance(Math.round(count * ms));
  };
  return { advance: advanceBy(unitMs), advanceDays: advanceBy(DAY_MS) };
}

type Clock = Pick<StoreVerbs, "leaseMs" | "movesClock" | "advance" | "advanceDays">;

function verbsOf(store: DeliveryStore, clock: Clock, other: () => StoreVerbs): StoreVerbs {
  const claim = async (key: string, owner: string, leaseMs = LONG_MS, retentionMs = LONG_MS) =>
    store.claim(key, owner, { leaseMs, retentionMs });
  const ensureClaimed = (key: string, owner: string, takeover: boolean, result: ClaimResult) => {
    ensure(result.state === "claimed", `${key} must be granted to ${owner}`, result);
    ensure(
      result.state === "claimed" && result.takeover === takeover,
      `the claim of ${key} by ${owner} must be ${takeover ? "a" : "no"} takeover`,
      result,
    );
  };
  return {
    ...clock,
    get other() {
      return other();
    },
    methods: store,
    claim,
    async claimed(key, owner, takeover = false) {
      ensureClaimed(key, owner, takeover, await claim(key, owner));
    },
    async leased(key, owner, takeover = false, retentionMs = LONG_MS) {
      ensureClaimed(key, owner, takeover, await claim(key, owner, clock.leaseMs, retentionMs));
    },
    async inFlight(key, owner, withinMs = LONG_MS, atLeastMs = Number.MIN_VALUE) {
      const result = await claim(key, owner);
      ensure(result.state === "in_flight", `${key} must be in flight for ${owner}`, result);
      // A store may round up, since Retry-After is in seconds.
      const mostMs = Math.ceil(withinMs / SECOND_MS) * SECOND_MS;
      ensure(
        result.state === "in_flight" &&
          result.retryAfterMs >= atLeastMs &&
          result.retryAfterMs <= mostMs,
        `retryAfterMs must be ${rangeOf(atLeastMs, mostMs)}`,
        result,
      );
    },
    async completed(key, owner) {
      const result = await claim(key, owner);
      ensure(result.state === "completed", `${key} must be completed for ${owner}`, result);
    },
    async renewed(key, owner, held, forMs = LONG_MS) {
      const answer = await store.renew(key, owner, { leaseMs: forMs });
      ensure(answer === held, `renew of ${key} by ${owner} must be ${String(held)}`, answer);
    },
    async complete(key, owner, retentionMs = LONG_MS) {
      await store.complete(key, owner, { retentionMs });
    },
    async release(key, owner) {
      await store.release(key, owner);
    },
  };
}

function rangeOf(atLeastMs: number, withinMs: number): string {
  const from = atLeastMs < 1 ? "above 0" : `at least ${atLeastMs}`;
  return `${from} and at most ${withinMs}`;
}
