import type { StoreRules } from "./store-verbs.js";

/** A completion counts from any owner, and nothing undoes it. */
export const completionRules: StoreRules = {
  complete: {
    title: "a completed key stays completed for every client, also for its owner",
    async check(store) {
      await store.leased("k", "a");
      await store.complete("k", "a");
      await store.other.completed("k", "b");
      await store.completed("k", "a");
      await store.advance(1.3);
      await store.completed("k", "b");
    },
  },
  "complete-stays": {
    title: "neither release, renew nor complete undoes a completion",
    async check(store) {
      await store.claimed("k", "a");
      await store.complete("k", "a");
      await store.release("k", "a");
      await store.release("k", "b");
      await store.renewed("k", "b", false);
      await store.complete("k", "b", 1);
      await store.advance(0.3);
      await store.completed("k", "c");
    },
  },
  "complete-late": {
    title: "a completion is accepted after the lease has ended",
    async check(store) {
      await store.leased("k", "a");
      await store.advance(1.3);
      await store.complete("k", "a");
      await store.completed("k", "b");
    },
  },
  "complete-lost": {
    title: "a completion is accepted after another owner took over",
    async check(store) {
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
  },
  "complete-unclaimed": {
    title: "a completion is accepted for a key that the store does not know",
    async check(store) {
      await store.complete("k", "a");
      await store.other.completed("k", "b");
    },
  },
};
