import { AWKWARD_KEYS, LONG_KEYS } from "./key-checks.js";
import { DAY_MS, ensure, LONG_DAYS, MONTH_MS } from "./store-verbs.js";
import type { TransactionChecks } from "./transaction-verbs.js";

const KEYS = 1_500;
/** More than a pool has connections. */
const FAILURES = 25;

/** Rules for deliveries that come one after the other. */
export const transactionChecks = {
  async commit(store) {
    await store.processed("k");
    await store.completed("k");
    await store.other.completed("k");
    await store.processed("nothing", { row: null });
    await store.other.completed("nothing");
    await store.rows(["k"]);
  },
  async rollback(store) {
    await store.failed("k");
    await store.rows([]);
    await store.other.processed("k", { row: "second" });
    await store.completed("k");
    await store.rows(["second"]);
  },
  async "rollback-error"(store) {
    for (const error of [new TypeError("other"), "text", undefined]) {
      await store.failed("k", error);
    }
    await store.rows([]);
  },
  async "rollback-again"(store) {
    for (let times = 0; times < FAILURES; times++) await store.failed("k");
    await store.processed("k", { row: "last" });
    await store.other.completed("k");
    await store.rows(["last"]);
  },
  async "no-takeover"(store) {
    const more = (facts?: { readonly takeover: boolean }): Promise<void> => {
      ensure(facts?.takeover !== true, "the run must be no takeover", facts);
      return Promise.resolve();
    };
    await store.processed("first", { more });
    await store.failed("second");
    await store.processed("second", { more });
  },
  async retention(store) {
    // A store may count the retention from the last look, so nothing looks at the second key before its end.
    const retentionMs = 3 * store.unitMs;
    for (const key of ["seen", "unseen"]) await store.processed(key, { retentionMs });
    await store.advance(2.4);
    await store.completed("seen");
    await store.advance(0.9);
    await store.processed("unseen", { row: "again" });
    await store.completed("unseen");
    await store.rows(["seen", "unseen", "again"]);
  },
  async "retention-long"(store) {
    await store.processed("k", { retentionMs: MONTH_MS });
    await store.advance(1.3);
    await store.completed("k");
  },
  async "retention-days"(store) {
    for (const key of ["seen", "unseen"]) await store.processed(key, { retentionMs: MONTH_MS });
    await store.processed("long", { retentionMs: LONG_DAYS * DAY_MS });
    await store.advanceDays(29.9);
    await store.completed("seen");
    await store.advanceDays(0.2);
    await store.processed("unseen");
    await store.advanceDays(LONG_DAYS - 30.2);
    await store.other.completed("long");
  },
  async "keys-apart"(store) {
    for (const key of AWKWARD_KEYS) await store.processed(key);
    for (const key of AWKWARD_KEYS) await store.other.completed(key);
    await store.rows(AWKWARD_KEYS);
  },
  async "keys-late"(store) {
    for (const key of LONG_KEYS) await store.processed(key);
    for (const key of LONG_KEYS) await store.other.completed(key);
  },
  async "keys-many"(store) {
    const keys = Array.from({ length: KEYS }, (_, index) => `delivery-${index}`);
    for (const key of keys) await store.process(key);
    for (const key of keys.slice(0, 100)) await store.completed(key);
    for (const key of keys.slice(-100)) await store.other.completed(key);
  },
} satisfies TransactionChecks;
