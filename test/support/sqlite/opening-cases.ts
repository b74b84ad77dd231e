import assert from "node:assert/strict";
import { ConfigurationError } from "../../../src/common/errors.js";
import { layoutOf } from "../../../src/stores/sqlite-table.js";
import {
  sqliteStore,
  sqliteTransactions,
  type SqliteOptions,
} from "../../../src/stores/sqlite/index.js";
import { TIMES, expectToProcess, expectToWork } from "../stores/store-cases.js";
import { valueOf, type SqliteHandle } from "./drivers.js";
import type { SqliteChecks } from "./folder.js";

/** Which handles, tables and options the SQLite stores accept. */
export const openingChecks: SqliteChecks = {
  "sqliteStore refuses a database in memory"(_folder, driver) {
    for (const file of [":memory:", ""]) {
      const database = driver.open(file);
      refused({ database }, /open a file on a local disk/);
      database.close();
    }
  },

  async "the SQLite stores open an existing table while the file is locked"({ open }) {
    const other = open();
    sqliteStore({ database: other });
    other.exec("BEGIN IMMEDIATE");
    // Waiting for the lock would never end here.
    const [first, second] = [open(), open()];
    const store = sqliteStore({ database: first, waitTimeoutMs: 1_000 });
    const transactions = sqliteTransactions({ database: second, waitTimeoutMs: 1_000 });
    for (const one of [first, second]) assert.equal(valueOf(one, "PRAGMA synchronous"), 2);
    other.exec("CREATE TABLE written (n INTEGER); COMMIT");
    await expectToWork(store);
    await expectToProcess(transactions);
  },

  "sqliteStore refuses a read-only handle, also of a locked file"({ open }) {
    const other = open();
    sqliteStore({ database: other });
    for (const sql of ["SELECT 1", "BEGIN IMMEDIATE"]) {
      other.exec(sql);
      const database = open({ readOnly: true });
      assert.throws(() => sqliteStore({ database }), /readonly/);
    }
  },

  "sqliteStore refuses a handle inside a transaction"({ open }) {
    const database = open();
    database.exec("BEGIN");
    refused({ database }, /inside a transaction/);
    assert.doesNotThrow(() => database.exec("COMMIT"));
  },

  "sqliteStore refuses an unusable table and names the columns"({ open }) {
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

  "the SQLite stores write the number of the layout into the table"({ open }) {
    const database = open();
    sqliteStore({ database });
    assert.equal(layoutOf(createTableOf(database, "gateway_deliveries")), 1);
    sqliteTransactions({ database, table: "transactions" });
    assert.equal(layoutOf(createTableOf(database, "transactions")), 1);
  },

  async "the SQLite stores work on the table of a later layout"({ open }) {
    const later = open();
    sqliteStore({ database: later });
    later.exec(
      `ALTER TABLE gateway_deliveries ADD COLUMN attempts INTEGER
         CONSTRAINT identity_gateway_webhooks_layout_2 DEFAULT NULL;
       ALTER TABLE gateway_deliveries ADD COLUMN region TEXT NOT NULL DEFAULT 'eu'`,
    );
    await expectToWork(sqliteStore({ database: open() }));
    await expectToProcess(sqliteTransactions({ database: open() }));
    assert.equal(layoutOf(createTableOf(later, "gateway_deliveries")), 2);
  },

  "sqliteStore names the layout of a table that lacks a column"({ open }) {
    const database = open();
    sqliteStore({ database });
    database.exec(
      `ALTER TABLE gateway_deliveries ADD COLUMN attempts INTEGER
         CONSTRAINT identity_gateway_webhooks_layout_12 DEFAULT 0;
       ALTER TABLE gateway_deliveries DROP COLUMN owner`,
    );
    refused({ database }, /lacks columns of the store: owner \(its layout is 12\): name another/);
  },

  "the SQLite stores open an existing table without a write"({ open }) {
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

  "sqliteStore refuses options that cannot work"({ open }) {
    const database = open();
    for (const table of ["", 'a"', "1a", "sqlite_a", "a".repeat(65), 1 as unknown as string]) {
      refused({ database, table }, /table must be/);
    }
    for (const wrong of [undefined, null, "file.db", {}, { exec: 1, prepare: 1 }]) {
      refused({ database: wrong as unknown as typeof database }, /database must be/);
    }
    refused({ database, waitTimeoutMs: -1 }, /waitTimeoutMs/);
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
