import { DAY_MS, LONG_DAYS, MONTH_MS, type StoreChecks } from "./store-verbs.js";

const MINUTE_MS = 60_000;
const LONG_MS = LONG_DAYS * DAY_MS;

/** How long leases and retentions last, and that they end. */
export const durationChecks = {
  async "lease-length"(store) {
    await store.leased("renewed", "a");
    for (let times = 0; times < 3; times++) {
      await store.renewed("renewed", "a", true, store.leaseMs);
      await store.leased("claimed", "a");
    }
    for (const key of ["renewed", "claimed"]) await store.inFlight(key, "b", 1.3 * store.leaseMs);
    await store.advance(1.6);
    for (const key of ["renewed", "claimed"]) await store.claimed(key, "b", true);
  },
  async "lease-days"(store) {
    // The tests of the stores pick the cases that move the clock by their ending, -days.
    // As long as a handler may take: a store that caps its leases would let it run twice.
    await store.claim("claimed", "a", 15 * MINUTE_MS);
    await store.leased("renewed", "a");
    await store.renewed("renewed", "a", true, 15 * MINUTE_MS);
    await store.advanceDays((14 * MINUTE_MS) / DAY_MS);
    for (const key of ["claimed", "renewed"]) await store.inFlight(key, "b", 1.5 * MINUTE_MS);
    await store.advanceDays((2 * MINUTE_MS) / DAY_MS);
    for (const key of ["claimed", "renewed"]) await store.claimed(key, "b", true);
  },
  async retention(store) {
    // A store may count the retention from the last look, so nothing looks at the second key before its end.
    const keys = ["seen", "unseen"];
    for (const key of keys) await store.claimed(key, "a");
    await store.advance(0.7);
    for (const key of keys) await store.complete(key, "a", 3 * store.leaseMs);
    await store.advance(2.4);
    await store.completed("seen", "b");
    await store.advance(0.9);
    await store.claimed("unseen", "b");
    await store.inFlight("unseen", "c");
  },
  async "retention-long"(store) {
    // A JavaScript timer overflows at 24.8 days and fires at once.
    await store.claimed("k", "a");
    await store.complete("k", "a", MONTH_MS);
    await store.advance(1.3);
    await store.completed("k", "b");
  },
  async "retention-days"(store) {
    for (const key of ["seen", "unseen"]) {
      await store.claimed(key, "a");
      await store.complete(key, "a", MONTH_MS);
    }
    await store.claimed("long", "a");
    await store.complete("long", "a", LONG_MS);
    await store.advanceDays(1.1);
    await store.completed("seen", "b");
    await store.advanceDays(28.8);
    await store.completed("seen", "b");
    await store.other.completed("seen", "c");
    await store.advanceDays(0.2);
    await store.claimed("unseen", "b");
    await store.inFlight("unseen", "c");
    await store.advanceDays(LONG_DAYS - 30.2);
    await store.completed("long", "b");
  },
  async "claims-days"(store) {
    await store.leased("k", "a", false, LONG_MS);
    await store.advanceDays(LONG_DAYS / 2);
    await store.other.leased("k", "b", true, LONG_MS);
    await store.advanceDays(LONG_DAYS - 0.1);
    await store.claimed("k", "c", true);
  },
  async "takeover-days"(store) {
    await store.leased("released", "a", false, MONTH_MS);
    await store.advance(1.3);
    await store.leased("released", "b", true, MONTH_MS);
    await store.release("released", "b");
    await store.leased("left", "a", false, MONTH_MS);
    await store.leased("renewed", "a", false, MONTH_MS);
    await store.renewed("renewed", "a", true, store.leaseMs);
    await store.advanceDays(29.9);
    for (const key of ["left", "renewed", "released"]) {
      await store.other.claimed(key, "c", true);
    }
  },
} satisfies StoreChecks;
