import type { StoreChecks, StoreVerbs } from "./store-verbs.js";

/** A store that counts in whole seconds would end it almost a second early. */
const noWholeLease = ({ leaseMs }: StoreVerbs): number => Math.round(1.9 * leaseMs);

/** Claims, takeovers and renewals. */
export const leaseChecks = {
  async "claim-exclusive"(store) {
    await store.claimed("k", "a");
    await store.inFlight("k", "b");
    await store.other.inFlight("k", "c");
    await store.claimed("k", "a");
    await store.other.claimed("k", "a");
    await store.inFlight("k", "b");
  },
  async "claim-again-holds"(store) {
    await store.leased("k", "a");
    await store.advance(0.65);
    await store.leased("k", "a");
    await store.advance(0.65);
    await store.inFlight("k", "b");
    await store.advance(0.65);
    await store.claimed("k", "b", true);
  },
  async "retry-after"(store) {
    // Long enough that what is left differs from the whole lease, also in whole seconds.
    await store.claim("k", "a", 4 * store.leaseMs);
    await store.advance(2.5);
    await store.inFlight("k", "b", 1.6 * store.leaseMs, 1.1 * store.leaseMs);
  },
  async takeover(store) {
    await store.claim("k", "a", noWholeLease(store));
    await store.advance(1.6);
    await store.other.inFlight("k", "b");
    await store.advance(0.6);
    await store.other.claimed("k", "b", true);
    await store.inFlight("k", "a");
  },
  async "takeover-by-itself"(store) {
    await store.leased("k", "a");
    await store.advance(1.3);
    await store.claimed("k", "a", true);
  },
  async "takeover-remembered"(store) {
    await store.leased("k", "a");
    await store.advance(4);
    await store.leased("k", "b", true);
  },
  async "takeover-again"(store) {
    await store.leased("k", "a");
    await store.advance(1.3);
    await store.claimed("k", "b", true);
    await store.claimed("k", "b", true);
    await store.inFlight("k", "c");
  },
  async renew(store) {
    await store.leased("k", "a");
    await store.advance(0.65);
    await store.renewed("k", "a", true, noWholeLease(store));
    await store.advance(1.6);
    await store.inFlight("k", "b");
    await store.advance(1);
    await store.claimed("k", "b", true);
  },
  async "renew-elsewhere"(store) {
    await store.claimed("k", "a");
    await store.other.renewed("k", "a", true);
    await store.other.release("k", "a");
    await store.claimed("k", "b");
  },
  async "renew-ended"(store) {
    await store.leased("k", "a");
    await store.advance(1.3);
    await store.renewed("k", "a", false);
    await store.claimed("k", "b", true);
  },
  async "renew-fenced"(store) {
    await store.leased("k", "a");
    await store.advance(0.65);
    await store.renewed("k", "b", false);
    await store.advance(0.65);
    await store.claimed("k", "b", true);
    await store.renewed("k", "a", false);
    await store.renewed("k", "b", true);
  },
  async "renew-nothing"(store) {
    await store.renewed("never", "a", false);
    await store.claimed("released", "a");
    await store.release("released", "a");
    await store.renewed("released", "a", false);
    await store.claimed("completed", "a");
    await store.complete("completed", "a");
    await store.renewed("completed", "a", false);
  },
  async release(store) {
    await store.claimed("k", "a");
    await store.other.inFlight("k", "b");
    await store.release("k", "a");
    await store.other.claimed("k", "b");
    await store.inFlight("k", "a");
  },
  async "release-takeover"(store) {
    // What the first run did stays unknown, however often a later run fails.
    await store.leased("k", "a");
    await store.advance(1.3);
    await store.claimed("k", "b", true);
    await store.release("k", "b");
    await store.renewed("k", "b", false);
    await store.release("k", "b");
    await store.advance(2);
    await store.other.claimed("k", "c", true);
    await store.inFlight("k", "b");
    await store.other.renewed("k", "c", true);
    await store.release("k", "c");
    await store.claimed("k", "c", true);
    await store.complete("k", "c");
    await store.other.completed("k", "b");
  },
  async "release-fenced"(store) {
    await store.leased("k", "a");
    await store.release("k", "b");
    await store.inFlight("k", "b");
    await store.advance(1.3);
    await store.claimed("k", "b", true);
    await store.release("k", "a");
    await store.inFlight("k", "c");
  },
  async "release-nothing"(store) {
    await store.release("k", "a");
    await store.claimed("k", "b");
    await store.inFlight("k", "a");
  },
} satisfies StoreChecks;

/** A completion counts from any owner, and nothing undoes it. */
export const completionChecks = {
  async complete(store) {
    await store.leased("k", "a");
    await store.complete("k", "a");
    await store.other.completed("k", "b");
    await store.completed("k", "a");
    await store.advance(1.3);
    await store.completed("k", "b");
  },
  async "complete-stays"(store) {
    await store.claimed("k", "a");
    await store.complete("k", "a");
    await store.release("k", "a");
    await store.release("k", "b");
    await store.renewed("k", "b", false);
    await store.complete("k", "b", 1);
    await store.advance(0.3);
    await store.completed("k", "c");
  },
  async "complete-late"(store) {
    await store.leased("k", "a");
    await store.advance(1.3);
    await store.complete("k", "a");
    await store.completed("k", "b");
  },
  async "complete-lost"(store) {
    await store.leased("k", "a");
    await store.advance(1.3);
    await store.other.claimed("k", "b", true);
    await store.complete("k", "a");
    await store.completed("k", "c");
    await store.other.renewed("k", "b", false);
    await store.other.release("k", "b");
    await store.completed("k", "c");
    await store.other.complete("k", "b");
    await store.completed("k", "c");
  },
  async "complete-unclaimed"(store) {
    await store.complete("k", "a");
    await store.other.completed("k", "b");
  },
} satisfies StoreChecks;
