import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import { ConfigurationError } from "../../../src/common/errors.js";
import { isPromise } from "../../../src/common/promises.js";
import {
  sqliteStore,
  sqliteTransactions,
  type SqliteOptions,
} from "../../../src/stores/sqlite/index.js";
import { rowsOf, valueOf, type SqliteDriver } from "./sqlite-drivers.js";
import { withSqliteFolder, type SqliteFolder } from "./sqlite-folder.js";

/** What one test of a driver does: for vitest, and for a Node of another version. */
export interface SqliteCase {
  readonly title: string;
  readonly run: () => Promise<void>;
}

type Check = (folder: SqliteFolder, driver: SqliteDriver) => Promise<void> | void;

const TIMES = { leaseMs: 60_000, retentionMs: 3_600_000 };
const CLAIMED = { state: "claimed", takeover: false };

const checks: Record<string, Check> = {
  "sets WAL and synchronous=FULL, and leaves the busy timeout as it was"({ open }) {
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

  "keeps synchronous=EXTRA"({ open }) {
    const database = open();
    database.exec("PRAGMA synchronous = EXTRA");
    sqliteStore({ database });
    assert.equal(valueOf(database, "PRAGMA synchronous"), 3);
  },

  "answers every verb with a value, and no promise"({ open }) {
    const store = sqliteStore({ database: open() });
    assert.deepEqual(store.claim("k", "a", TIMES), CLAIMED);
    assert.equal(store.renew("k", "a", { leaseMs: 1000 }), true);
    assert.equal(store.release("k", "a"), undefined);
    assert.equal(store.complete("k", "a", { retentionMs: 1000 }), undefined);
  },

  async "waits for another connection's lock while the process goes on"({ open }) {
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

  async "rejects with SQLITE_BUSY after waitTimeoutMs, and has written nothing"({ open }) {
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
    assert.deepEqual(rowsOf(other, "SELECT * FROM webhook_deliveries"), []);
  },

  async "waits no longer where another error comes up"({ open }) {
    const database = open();
    const store = sqliteStore({ database, waitTimeoutMs: 60_000 });
    open().exec("BEGIN IMMEDIATE");
    const claiming = store.claim("k", "a", TIMES);
    database.close();
    await assert.rejects(async () => claiming, /not open/);
  },

  "throws at once where waitTimeoutMs is 0"({ open }) {
    const store = sqliteStore({ database: open(), waitTimeoutMs: 0 });
    open().exec("BEGIN IMMEDIATE");
    const claiming = () => store.claim("k", "a", TIMES);
    assert.throws(() => {
      assert.ok(!isPromise(claiming()));
    }, /database is locked/);
  },

  "refuses to write in an open transaction of the application"({ open }) {
    const database = open();
    const store = sqliteStore({ database });
    void store.claim("held", "a", TIMES);
    database.exec("BEGIN");
    const own = { name: "HandleInTransactionError", message: /a handle of its own/ };
    assert.throws(() => void store.claim("k", "a", TIMES), own);
    assert.throws(() => void store.renew("held", "a", { leaseMs: 1000 }), own);
    assert.throws(() => void store.complete("held", "a", { retentionMs: 1000 }), own);
    assert.throws(() => void store.release("held", "a"), own);
    database.exec("ROLLBACK");
    assert.deepEqual(store.claim("k", "a", TIMES), CLAIMED);
    assert.equal(store.renew("held", "a", { leaseMs: 1000 }), true);
  },

  async "remembers leases and completions in a file that is opened again"({ open }) {
    const database = open();
    const before = sqliteStore({ database });
    void before.claim("held", "a", TIMES);
    void before.complete("done", "a", { retentionMs: 1_000_000 });
    database.close();
    const after = sqliteStore({ database: open() });
    assert.equal((await after.claim("held", "b", TIMES)).state, "in_flight");
    assert.equal((await after.claim("done", "b", TIMES)).state, "completed");
  },

  "keeps tables apart, whatever their names"({ open }) {
    const database = open();
    for (const table of ["order", "_", "T1", "a".repeat(64)]) {
      const store = sqliteStore({ database, table });
      assert.deepEqual(store.claim("k", "a", TIMES), CLAIMED);
      assert.equal(valueOf(database, `SELECT count(*) FROM "${table}"`), 1);
    }
  },

  "throws where the file is full, and has claimed nothing"({ open }) {
    const database = open();
    const store = sqliteStore({ database });
    const pages = Number(valueOf(database, "PRAGMA page_count"));
    database.exec(`PRAGMA max_page_count = ${pages}`);
    let taken = 0;
    assert.throws(() => {
      for (; taken < 1_000; taken++) void store.claim(`k${taken}`, "a", TIMES);
    }, /full/);
    assert.ok(taken > 10);
    assert.equal(valueOf(database, "SELECT count(*) FROM webhook_deliveries"), taken);
    database.exec("PRAGMA max_page_count = 1000000");
    assert.deepEqual(store.claim(`k${taken}`, "a", TIMES), CLAIMED);
  },

  async "reads rows as arrays and integers as BigInt"({ open }) {
    const store = sqliteStore({ database: open({ oddRows: true }) });
    assert.deepEqual(store.claim("k", "a", TIMES), CLAIMED);
    const busy = await store.claim("k", "b", TIMES);
    assert.ok(busy.state === "in_flight");
    assert.equal(typeof busy.retryAfterMs, "number");
    assert.ok(busy.retryAfterMs > 50_000);
    assert.equal(store.renew("k", "a", { leaseMs: 1000 }), true);
    void store.complete("k", "a", { retentionMs: 1000 });
    assert.deepEqual(store.claim("k", "b", TIMES), { state: "completed" });
    void store.claim("j", "gone", { leaseMs: 1, retentionMs: 60_000 });
    await wait(5);
    const takeover = { state: "claimed", takeover: true };
    assert.deepEqual(store.claim("j", "a", TIMES), takeover);
    assert.deepEqual(store.claim("j", "a", TIMES), takeover);
    void store.release("j", "a");
    assert.deepEqual(store.claim("j", "b", TIMES), takeover);
  },

  "refuses a database in memory"(_folder, driver) {
    for (const file of [":memory:", ""]) {
      const database = driver.open(file);
      refused({ database }, /open a file on a local disk/);
      database.close();
    }
  },

  "opens while another connection holds the lock, where the table is there"({ open }) {
    const other = open();
    sqliteStore({ database: other });
    other.exec("BEGIN IMMEDIATE");
    // If these waited for the lock, they would wait without end.
    for (const openStore of [sqliteStore, sqliteTransactions]) {
      const database = open();
      assert.doesNotThrow(() => openStore({ database }));
      assert.equal(valueOf(database, "PRAGMA synchronous"), 2);
    }
    other.exec("COMMIT");
    assert.deepEqual(sqliteStore({ database: open() }).claim("k", "a", TIMES), CLAIMED);
  },

  "refuses a handle that cannot write, also while another connection holds the lock"({ open }) {
    const other = open();
    sqliteStore({ database: other });
    other.exec("BEGIN IMMEDIATE");
    const database = open({ readOnly: true });
    assert.throws(() => sqliteStore({ database }), /readonly/);
  },

  "refuses a handle that cannot write"({ open }) {
    sqliteStore({ database: open() });
    const database = open({ readOnly: true });
    assert.throws(() => sqliteStore({ database }), /readonly/);
  },

  "refuses a handle inside a transaction"({ open }) {
    const database = open();
    database.exec("BEGIN");
    refused({ database }, /inside a transaction/);
    assert.doesNotThrow(() => database.exec("COMMIT"));
  },

  "refuses a table that is not its own"({ open }) {
    const database = open();
    database.exec("CREATE TABLE webhook_deliveries (id TEXT, at INTEGER)");
    refused({ database }, /exists and is not the store's/);
    sqliteStore({ database, table: "mine" });
  },

  "refuses options that cannot work"({ open }) {
    const database = open();
    for (const table of [
      "",
      "a b",
      'a"',
      "1a",
      "sqlite_a",
      "a".repeat(65),
      1 as unknown as string,
    ]) {
      refused({ database, table }, /table has to be/);
    }
    for (const wrong of [undefined, null, "file.db", {}, { exec: 1, prepare: 1 }]) {
      refused({ database: wrong as unknown as typeof database }, /database has to be/);
    }
    refused({ database, waitTimeoutMs: -1 }, /waitTimeoutMs/);
    refused({ database, tables: "a" } as SqliteOptions, /tables is no option/);
    refused(undefined as unknown as SqliteOptions, /takes an options object/);
  },
};

function refused(options: SqliteOptions, message: RegExp): void {
  assert.throws(
    () => sqliteStore(options),
    (error) => error instanceof ConfigurationError && message.test(error.message),
  );
}

/** What `sqliteStore` does beside its contract. */
export function sqliteStoreCases(driver: SqliteDriver): readonly SqliteCase[] {
  return Object.entries(checks).map(([title, check]) => ({
    title,
    run: () => withSqliteFolder(driver, (folder) => check(folder, driver)),
  }));
}
