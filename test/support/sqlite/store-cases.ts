import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import { isPromise } from "../../../src/common/promises.js";
import { sqliteStore } from "../../../src/stores/sqlite/index.js";
import type { SqliteChecks } from "./folder.js";
import { rowsOf, valueOf } from "./drivers.js";

const TIMES = { leaseMs: 60_000, retentionMs: 3_600_000 };
const CLAIMED = { state: "claimed", takeover: false };

/** What `sqliteStore` does beyond the contract of stores. */
export const storeChecks: SqliteChecks = {
  "sqliteStore sets WAL and synchronous=FULL, and leaves busy_timeout as it was"({ open }) {
    const database = open();
    database.exec("PRAGMA busy_timeout = 1234");
    const store = sqliteStore({ database });
    assert.equal(valueOf(database, "PRAGMA busy_timeout"), 1234);
    void store.claim("k", "a", TIMES);
    void store.complete("k", "a", { retentionMs: 1000 });
    assert.equal(valueOf(database, "PRAGMA journal_mode"), "wal");
    assert.equal(valueOf(database, "PRAGMA synchronous"), 2);
    assert.equal(valueOf(database, "PRAGMA busy_timeout"), 1234);
  },

  "sqliteStore keeps synchronous=EXTRA"({ open }) {
    const database = open();
    database.exec("PRAGMA synchronous = EXTRA");
    sqliteStore({ database });
    assert.equal(valueOf(database, "PRAGMA synchronous"), 3);
  },

  "sqliteStore returns values, not promises, for a delivery that comes alone"({ open }) {
    const store = sqliteStore({ database: open() });
    assert.deepEqual(store.claim("k", "a", TIMES), CLAIMED);
    assert.equal(store.renew("k", "a", { leaseMs: 1000 }), true);
    assert.equal(store.release("k", "a"), undefined);
    assert.equal(store.complete("k", "a", { retentionMs: 1000 }), undefined);
  },

  async "sqliteStore waits for another connection's lock without blocking the process"({ open }) {
    const store = sqliteStore({ database: open() });
    const other = open();
    other.exec("BEGIN IMMEDIATE");
    const claiming = store.claim("k", "a", TIMES);
    assert.ok(isPromise(claiming));
    const startedAt = performance.now();
    await wait(100);
    assert.ok(performance.now() - startedAt < 1_000, "the process was stopped");
    other.exec("COMMIT");
    assert.deepEqual(await claiming, CLAIMED);
  },

  async "sqliteStore rejects with SQLITE_BUSY after waitTimeoutMs and has written nothing"({
    open,
  }) {
    const store = sqliteStore({ database: open(), waitTimeoutMs: 60 });
    const other = open();
    other.exec("BEGIN IMMEDIATE");
    const startedAt = performance.now();
    await assert.rejects(async () => store.claim("k", "a", TIMES), /database is locked/);
    await assert.rejects(
      async () => store.complete("j", "a", { retentionMs: 1000 }),
      /database is locked/,
    );
    assert.ok(performance.now() - startedAt >= 110);
    other.exec("COMMIT");
    assert.deepEqual(rowsOf(other, "SELECT * FROM gateway_deliveries"), []);
  },

  async "sqliteStore stops waiting at any other error"({ open }) {
    const database = open();
    const store = sqliteStore({ database, waitTimeoutMs: 60_000 });
    open().exec("BEGIN IMMEDIATE");
    const claiming = store.claim("k", "a", TIMES);
    database.close();
    await assert.rejects(async () => claiming, /not open/);
  },

  "sqliteStore throws at once if waitTimeoutMs is 0"({ open }) {
    const store = sqliteStore({ database: open(), waitTimeoutMs: 0 });
    open().exec("BEGIN IMMEDIATE");
    const claiming = () => store.claim("k", "a", TIMES);
    assert.throws(() => assert.ok(!isPromise(claiming())), /database is locked/);
  },

  "sqliteStore refuses to write in an open transaction of the application"({ open }) {
    const database = open();
    const store = sqliteStore({ database });
    assert.deepEqual(store.claim("k", "a", TIMES), CLAIMED);
    database.exec("BEGIN");
    const own = { code: "handle_in_transaction", message: /a handle of its own/ };
    assert.throws(() => void store.claim("k", "a", TIMES), own);
    assert.throws(() => void store.renew("k", "a", { leaseMs: 1000 }), own);
    assert.throws(() => void store.complete("k", "a", { retentionMs: 1000 }), own);
    assert.throws(() => void store.release("k", "a"), own);
    database.exec("ROLLBACK");
    assert.deepEqual(store.claim("k", "a", TIMES), CLAIMED);
    assert.equal(store.renew("k", "a", { leaseMs: 1000 }), true);
  },

  async "sqliteStore remembers leases and completions in a file that is opened again"({ open }) {
    const database = open();
    const before = sqliteStore({ database });
    await before.claim("held", "a", TIMES);
    await before.complete("done", "a", { retentionMs: 1_000_000 });
    database.close();
    const after = sqliteStore({ database: open() });
    assert.equal((await after.claim("held", "b", TIMES)).state, "in_flight");
    assert.equal((await after.claim("done", "b", TIMES)).state, "completed");
  },

  "sqliteStore keeps tables apart, whatever their names"({ open }) {
    const database = open();
    for (const table of ["order", "_", "T1", "a".repeat(64)]) {
      const store = sqliteStore({ database, table });
      assert.deepEqual(store.claim("k", "a", TIMES), CLAIMED);
      assert.equal(valueOf(database, `SELECT count(*) FROM "${table}"`), 1);
    }
  },

  async "sqliteStore rejects if the file is full and has claimed nothing"({ open }) {
    const database = open();
    const store = sqliteStore({ database });
    const pages = Number(valueOf(database, "PRAGMA page_count"));
    database.exec(`PRAGMA max_page_count = ${pages}`);
    let taken = 0;
    await assert.rejects(async () => {
      for (; taken < 1_000; taken++) await store.claim(`k${taken}`, "a", TIMES);
    }, /full/);
    assert.ok(taken > 10);
    assert.equal(valueOf(database, "SELECT count(*) FROM gateway_deliveries"), taken);
    database.exec("PRAGMA max_page_count = 1000000");
    assert.deepEqual(await store.claim(`k${taken}`, "a", TIMES), CLAIMED);
  },

  async "sqliteStore reads rows as arrays and integers as BigInt"({ open }) {
    const store = sqliteStore({ database: open({ oddRows: true }) });
    assert.deepEqual(store.claim("k", "a", TIMES), CLAIMED);
    const busy = await store.claim("k", "b", TIMES);
    assert.ok(busy.state === "in_flight");
    assert.equal(typeof busy.retryAfterMs, "number");
    assert.ok(busy.retryAfterMs > 50_000);
    assert.equal(store.renew("k", "a", { leaseMs: 1000 }), true);
    void store.complete("k", "a", { retentionMs: 1000 });
    assert.deepEqual(store.claim("k", "b", TIMES), { state: "completed" });
    await store.claim("j", "gone", { leaseMs: 1, retentionMs: 60_000 });
    await wait(5);
    const takeover = { state: "claimed", takeover: true };
    assert.deepEqual(await store.claim("j", "a", TIMES), takeover);
    assert.deepEqual(await store.claim("j", "a", TIMES), takeover);
    await store.release("j", "a");
    assert.deepEqual(await store.claim("j", "b", TIMES), takeover);
  },
};
