import type { StoreRule } from "./store-rule.js";

/** Claims, takeovers and renewals. */
export const leaseRules: readonly StoreRule[] = [
  {
    id: "claim-exclusive",
    title: "a key that is claimed is in flight for everybody else",
    async check(store) {
      await store.claimed("k", "a");
      await store.inFlight("k", "b");
      await store.other.inFlight("k", "c");
    },
  },
  {
    id: "claim-again",
    title: "the same owner claims again what it holds, through any client, and still alone",
    async check(store) {
      await store.claimed("k", "a");
      await store.claimed("k", "a");
      await store.other.claimed("k", "a");
      await store.inFlight("k", "b");
    },
  },
  {
    id: "claim-again-holds",
    title: "a claim that is repeated holds a whole lease from then on",
    isTimed: true,
    async check(store) {
      await store.leased("k", "a");
      await store.advance(0.65);
      await store.leased("k", "a");
      await store.advance(0.65);
      await store.inFlight("k", "b");
      await store.advance(0.65);
      await store.claimed("k", "b", true);
    },
  },
  {
    id: "retry-after",
    title: "retryAfterMs says what is left of the lease",
    isTimed: true,
    async check(store) {
      await store.leased("k", "a");
      await store.advance(0.6);
      await store.inFlight("k", "b", 0.7 * store.leaseMs);
    },
  },
  {
    id: "takeover",
    title: "after the lease has ended by the store's clock a claim is a takeover",
    isTimed: true,
    async check(store) {
      await store.leased("k", "a");
      await store.advance(0.7);
      await store.other.inFlight("k", "b");
      await store.advance(0.6);
      await store.other.claimed("k", "b", true);
      await store.inFlight("k", "a");
    },
  },
  {
    id: "takeover-by-itself",
    title: "an owner whose lease has ended takes over too",
    async check(store) {
      await store.leased("k", "a");
      await store.advance(1.3);
      await store.claimed("k", "a", true);
    },
  },
  {
    id: "takeover-remembered",
    title: "a lease that ended long ago is still told from none",
    async check(store) {
      await store.leased("k", "a");
      await store.advance(4);
      await store.leased("k", "b", true);
    },
  },
  {
    id: "takeover-again",
    title: "a takeover that its owner claims again is still one",
    async check(store) {
      await store.leased("k", "a");
      await store.advance(1.3);
      await store.claimed("k", "b", true);
      await store.other.claimed("k", "b", true);
      await store.inFlight("k", "c");
    },
  },
  {
    id: "renew",
    title: "a renewed lease holds from the moment of its renewal",
    isTimed: true,
    async check(store) {
      await store.leased("k", "a");
      await store.advance(0.65);
      await store.renewed("k", "a", true, store.leaseMs);
      await store.advance(0.65);
      await store.inFlight("k", "b");
      await store.advance(1);
      await store.claimed("k", "b", true);
    },
  },
  {
    id: "renew-elsewhere",
    title: "a lease is its owner's through any client",
    async check(store) {
      await store.claimed("k", "a");
      await store.other.renewed("k", "a", true);
      await store.other.release("k", "a");
      await store.claimed("k", "b");
    },
  },
  {
    id: "renew-ended",
    title: "a lease that has ended is not renewed",
    async check(store) {
      await store.leased("k", "a");
      await store.advance(1.3);
      await store.renewed("k", "a", false);
      await store.claimed("k", "b", true);
    },
  },
  {
    id: "renew-fenced",
    title: "nobody renews the lease of another owner",
    async check(store) {
      await store.leased("k", "a");
      await store.advance(0.65);
      await store.renewed("k", "b", false);
      await store.advance(0.65);
      await store.claimed("k", "b", true);
      await store.renewed("k", "a", false);
      await store.renewed("k", "b", true);
    },
  },
  {
    id: "renew-nothing",
    title: "what is not claimed, released or completed is not renewed",
    async check(store) {
      await store.renewed("never", "a", false);
      await store.claimed("released", "a");
      await store.release("released", "a");
      await store.renewed("released", "a", false);
      await store.claimed("completed", "a");
      await store.complete("completed", "a");
      await store.renewed("completed", "a", false);
    },
  },
  {
    id: "release",
    title: "a released key is claimed at once, by any client, and is no takeover",
    async check(store) {
      await store.claimed("k", "a");
      await store.release("k", "a");
      await store.other.claimed("k", "b");
      await store.inFlight("k", "a");
    },
  },
  {
    id: "release-takeover",
    title: "after a takeover is released each claim is one too, until the key is completed",
    async check(store) {
      // What the run did whose lease has ended is not known yet, however often a later one has failed.
      await store.leased("k", "a");
      await store.advance(1.3);
      await store.claimed("k", "b", true);
      await store.release("k", "b");
      await store.renewed("k", "b", false);
      await store.release("k", "b");
      await store.advance(2);
      await store.other.claimed("k", "c", true);
      await store.inFlight("k", "b");
      await store.renewed("k", "c", true);
      await store.release("k", "c");
      await store.claimed("k", "c", true);
      await store.complete("k", "c");
      await store.other.completed("k", "b");
    },
  },
  {
    id: "release-fenced",
    title: "nobody releases the lease of another owner",
    isTimed: true,
    async check(store) {
      await store.leased("k", "a");
      await store.release("k", "b");
      await store.inFlight("k", "b");
      await store.advance(1.3);
      await store.claimed("k", "b", true);
      await store.release("k", "a");
      await store.inFlight("k", "c");
    },
  },
  {
    id: "release-nothing",
    title: "to release what is not claimed does nothing",
    async check(store) {
      await store.release("k", "a");
      await store.claimed("k", "b");
      await store.inFlight("k", "a");
    },
  },
];
