import type { StoreChecks } from "./store-verbs.js";

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
