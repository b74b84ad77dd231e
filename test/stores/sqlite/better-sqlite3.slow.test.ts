import { randomUUID } from "node:crypto";
import { statSync } from "node:fs";
import Sqlite, { type Database, type Statement } from "better-sqlite3";
import { sql as drizzleSql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/better-sqlite3";
import { Kysely, SqliteDialect } from "kysely";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sqliteStore, sqliteTransactions } from "../../../src/stores/sqlite/index.js";
import { betterSqlite3, valueOf } from "../../support/sqlite/drivers.js";
import { sqliteFolder, withSqliteFolder, type SqliteFolder } from "../../support/sqlite/folder.js";
import {
  NOTHING,
  RETENTION,
  committed,
  openLedger,
} from "../../support/sqlite/transaction-cases.js";
import { CLAIMED, TIMES } from "../../support/stores/store-cases.js";

const IDS = 100_000;
const LATE = { code: "transaction_misuse" };
const INSERT = "INSERT INTO effects (name) VALUES (?)";

it("sqliteStore throws the driver's error for a closed handle", async () => {
  await withSqliteFolder(betterSqlite3, ({ open }) => {
    const database = open();
    database.close();
    expect(() => sqliteStore({ database })).toThrow("The database connection is not open");
  });
});

it("sqliteStore waits five seconds for a locked file when it creates its table", async () => {
  await withSqliteFolder(betterSqlite3, ({ open }) => {
    const [other, database] = [open(), open()];
    other.exec("BEGIN EXCLUSIVE");
    const startedAt = performance.now();
    expect(() => sqliteStore({ database })).toThrow("database is locked");
    expect(performance.now() - startedAt).toBeGreaterThan(4_000);
    other.exec("ROLLBACK");
    expect(sqliteStore({ database }).claim("k", "a", TIMES)).toEqual(CLAIMED);
  });
});

it("sqliteStore leaves a busy_timeout of 0 as it is", async () => {
  await withSqliteFolder(betterSqlite3, async ({ file, open }) => {
    const database = new Sqlite(file, { timeout: 0 });
    const store = sqliteStore({ database });
    const other = open();
    other.exec("BEGIN IMMEDIATE");
    const claim = store.claim("k", "a", TIMES);
    other.exec("ROLLBACK");
    expect(await claim).toEqual(CLAIMED);
    expect(valueOf(database, "PRAGMA busy_timeout")).toBe(0);
    database.close();
  });
});

it(`sqliteStore takes at most 80 bytes for each of ${IDS} ids`, async () => {
  await withSqliteFolder(betterSqlite3, async ({ file, open }) => {
    const database = open();
    const store = sqliteStore({ database });
    // Faster: the same rows, without waiting for the disk.
    database.exec("PRAGMA synchronous = OFF");
    for (let index = 0; index < IDS; index++) {
      const [key, owner] = [randomUUID(), `${randomUUID()}-${index}`];
      await store.claim(key, owner, TIMES);
      await store.complete(key, owner, TIMES);
    }
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    expect(valueOf(database, "SELECT count(*) FROM gateway_deliveries")).toBe(IDS);
    const bytes = statSync(file).size / IDS;
    process.stdout.write(`sqlite: ${bytes.toFixed(1)} bytes of file per remembered id\n`);
    expect(bytes).toBeLessThan(80);
    expect(bytes).toBeGreaterThan(36);
  });
});

let folder: SqliteFolder;
let database: Database;

beforeEach(() => {
  folder = sqliteFolder(betterSqlite3);
  openLedger(folder);
  database = new Sqlite(folder.file);
});

afterEach(() => {
  database.close();
  folder.remove();
});

/** Processes the key `k` with `work`. */
function processWith(work: (tx: Database) => unknown) {
  return sqliteTransactions({ database }).process(
    "k",
    async (tx) => {
      await work(tx);
    },
    RETENTION,
  );
}

describe("a handler with better-sqlite3's own methods", () => {
  it("better-sqlite3: tx refuses all methods after the handler has settled", async () => {
    const uses: (() => unknown)[] = [];
    await processWith((tx) => {
      const select = tx.prepare("SELECT name FROM effects");
      const chained: Statement[] = [
        select.raw(),
        select.raw(false).pluck().safeIntegers(),
        tx.exec("").prepare("SELECT name FROM effects"),
        tx.prepare("SELECT name FROM effects WHERE name = ?").bind("a"),
        tx.prepare("SELECT name FROM effects").expand(),
      ];
      uses.push(...chained.map((statement) => () => statement.all()));
      uses.push(
        () => tx.pragma("user_version"),
        () => tx.serialize(),
      );
      const write = tx.transaction((name: string) => tx.prepare(INSERT).run(name));
      uses.push(
        () => write("late"),
        () => write.default("late"),
        () => write.deferred("late"),
        () => write.immediate("late"),
        () => write.exclusive("late"),
        () => (write.default as typeof write).exclusive("late"),
      );
      uses.push(() => tx.transaction(() => undefined));
    });
    for (const use of uses) expect(use).toThrow(expect.objectContaining(LATE));
    expect(database.inTransaction).toBe(false);
    expect(committed(folder)).toEqual({ effects: [], keys: ["k"] });
  });

  it("better-sqlite3: transaction() of tx is a savepoint", async () => {
    await processWith((tx) => {
      expect(tx.inTransaction).toBe(true);
      const write = tx.transaction(function (this: unknown, name: string, fails: boolean) {
        expect(this).toBe(folder);
        tx.prepare(INSERT).run(name);
        if (fails) throw new Error("of the part");
        return name;
      });
      expect(write.call(folder, "a", false)).toBe("a");
      expect(() => write.immediate.call(folder, "b", true)).toThrow("of the part");
      expect(tx.prepare("SELECT name FROM effects").pluck().all()).toEqual(["a"]);
    });
    expect(committed(folder)).toEqual({ effects: ["a"], keys: ["k"] });
  });

  it("better-sqlite3: a late handler can still print tx", async () => {
    let kept: Database | undefined;
    await processWith((tx) => (kept = tx));
    expect(String(kept as unknown)).toBe("[object Object]");
    expect(kept).toMatchObject({ open: true, inTransaction: false });
  });
});

describe("a handler with a query builder on tx", () => {
  it("Drizzle on tx writes in the transaction, and nothing later", async () => {
    let late: (() => unknown) | undefined;
    const failing = processWith((tx) => {
      const db = drizzle(tx);
      late = () => db.run(drizzleSql`INSERT INTO effects (name) VALUES ('late')`);
      db.transaction((part) => part.run(drizzleSql`INSERT INTO effects (name) VALUES ('a')`));
      expect(db.all(drizzleSql`SELECT name FROM effects`)).toEqual([{ name: "a" }]);
      throw new Error("failed");
    });
    await expect(failing).rejects.toThrow("failed");
    expect(() => late?.()).toThrow(
      expect.objectContaining({ cause: expect.objectContaining(LATE) as unknown }),
    );
    expect(committed(folder)).toEqual(NOTHING);
  });

  it("Kysely on tx writes in the transaction, and nothing later", async () => {
    let late: (() => Promise<unknown>) | undefined;
    const failing = processWith(async (tx) => {
      const db = new Kysely<{ effects: { name: string } }>({
        dialect: new SqliteDialect({ database: tx }),
      });
      const insert = (name: string) => db.insertInto("effects").values({ name }).execute();
      late = () => insert("late");
      await insert("a");
      expect(await db.selectFrom("effects").selectAll().execute()).toMatchObject([{ name: "a" }]);
      throw new Error("failed");
    });
    await expect(failing).rejects.toThrow("failed");
    await expect(late?.()).rejects.toMatchObject(LATE);
    expect(committed(folder)).toEqual(NOTHING);
  });
});
