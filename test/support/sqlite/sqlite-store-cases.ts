import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import { ConfigurationError } from "../../../src/common/configuration-error.js";
import { isPromise } from "../../../src/common/maybe-promise.js";
import {
  sqliteStore,
  sqliteTransactions,
  type SqliteOptions,
} from "../../../src/stores/sqlite/index.js";
import { layoutOf } from "../../../src/stores/sqlite/deliveries-table.js";
import { rowsOf, valueOf, type SqliteDriver, type SqliteHandle } from "./sqlite-drivers.js";
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
    assert.deepEqual(rowsOf(other, "SELECT * FROM gateway_deliveries"), []);
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
    assert.equal(valueOf(database, "SELECT count(*) FROM gateway_deliveries"), taken);
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

  "refuses a table whose columns or key it cannot use, and says what is wrong"({ open }) {
    const database = open();
    const needed = `key TEXT PRIMARY KEY, owner TEXT, lease_ends_at INTEGER,
      takeover INTEGER NOT NULL DEFAULT 0, forget_at INTEGER NOT NULL`;
    const tables = {
      gateway_deliveries: [
        "(id TEXT, at INTEGER)",
        /exists and lacks columns of the store: key, owner, lease_ends_at, takeover, forget_at: name another/,
      ],
      one_missing: [`(${needed.replace("owner TEXT,", "")})`, /lacks columns of the store: owner:/],
      one_required: [`(${needed}, tenant TEXT NOT NULL)`, /does not fill, .+: tenant:/],
      owner_required: [`(${needed.replace("owner TEXT", "owner TEXT NOT NULL")})`, /: owner:/],
      no_key: [
        `(${needed.replace("PRIMARY KEY", "NOT NULL")})`,
        /is not a table with a unique index on key alone/,
      ],
      key_of_two: [
        `(${needed.replace(" PRIMARY KEY", "")}, PRIMARY KEY (key, owner))`,
        /is not a table with a unique index on key alone/,
      ],
    } as const;
    for (const [table, [columns, message]] of Object.entries(tables)) {
      database.exec(`CREATE TABLE ${table} ${columns}`);
      refused({ database, table }, message);
    }
    database.exec("CREATE VIEW a_view AS SELECT * FROM one_required");
    refused({ database, table: "a_view" }, /is not a table with a unique index on key alone/);
    sqliteStore({ database, table: "mine" });
  },

  "writes the number of the layout into the table"({ open }) {
    const database = open();
    sqliteStore({ database });
    assert.equal(layoutOf(createTableOf(database, "gateway_deliveries")), 1);
    sqliteTransactions({ database, table: "transactions" });
    assert.equal(layoutOf(createTableOf(database, "transactions")), 1);
  },

  async "works on the table of a later layout after a rollback of the release"({ open }) {
    const later = open();
    sqliteStore({ database: later });
    later.exec(
      `ALTER TABLE gateway_deliveries ADD COLUMN attempts INTEGER
         CONSTRAINT identity_gateway_webhooks_layout_2 DEFAULT NULL;
       ALTER TABLE gateway_deliveries ADD COLUMN region TEXT NOT NULL DEFAULT 'eu'`,
    );
    const store = sqliteStore({ database: open() });
    assert.deepEqual(store.claim("k", "a", TIMES), CLAIMED);
    assert.equal(store.renew("k", "a", { leaseMs: 1_000 }), true);
    void store.release("k", "a");
    assert.deepEqual(store.claim("k", "a", TIMES), CLAIMED);
    void store.complete("k", "a", { retentionMs: 60_000 });
    assert.deepEqual(store.claim("k", "b", TIMES), { state: "completed" });
    const transactions = sqliteTransactions({ database: open() });
    const work = () => Promise.resolve();
    const times = { retentionMs: 60_000 };
    assert.deepEqual(await transactions.process("j", work, times), { state: "processed" });
    assert.deepEqual(await transactions.process("j", work, times), { state: "completed" });
    assert.equal(layoutOf(createTableOf(later, "gateway_deliveries")), 2);
  },

  "names the layout of a table that lacks a column which this release needs"({ open }) {
    const database = open();
    sqliteStore({ database });
    database.exec(
      `ALTER TABLE gateway_deliveries ADD COLUMN attempts INTEGER
         CONSTRAINT identity_gateway_webhooks_layout_12 DEFAULT 0;
       ALTER TABLE gateway_deliveries DROP COLUMN owner`,
    );
    refused({ database }, /lacks columns of the store: owner \(its layout is 12\): name another/);
  },

  "opens an existing table without a write"({ open }) {
    const writer = open();
    sqliteStore({ database: writer });
    const version = () => valueOf(reader, "PRAGMA data_version");
    const reader = open();
    const before = version();
    for (const openStore of [sqliteStore, sqliteTransactions]) openStore({ database: open() });
    assert.equal(version(), before);
    void sqliteStore({ database: writer }).claim("k", "a", TIMES);
    assert.notEqual(version(), before);
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

function createTableOf(database: SqliteHandle, table: string): string {
  return String(valueOf(database, `SELECT sql FROM sqlite_master WHERE name = '${table}'`));
}

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
