import BetterSqlite3 from "better-sqlite3";
import { expect, it } from "vitest";
import { sqliteStore } from "../../../src/stores/sqlite/index.js";
import { betterSqlite3, valueOf } from "../../support/sqlite/drivers.js";
import { withSqliteFolder } from "../../support/sqlite/folder.js";

const TIMES = { leaseMs: 30_000, retentionMs: 604_800_000 };
const CLAIMED = { state: "claimed", takeover: false };

it("sqliteStore throws the driver's error for a closed handle", async () => {
  await withSqliteFolder(betterSqlite3, ({ open }) => {
    const database = open();
    database.close();
    expect(() => sqliteStore({ database })).toThrow("The database connection is not open");
  });
});

it("sqliteStore waits for a locked file when it creates its table, and gives up after five seconds", async () => {
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
    const database = new BetterSqlite3(file, { timeout: 0 });
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
