import BetterSqlite3 from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { sqliteStore } from "../../../src/stores/sqlite/index.js";
import { betterSqlite3, valueOf } from "../../support/sqlite/drivers.js";
import { withSqliteFolder } from "../../support/sqlite/folder.js";

const TIMES = { leaseMs: 30_000, retentionMs: 604_800_000 };
const CLAIMED = { state: "claimed", takeover: false };

describe("a handle that sqliteStore is given", () => {
  it("is refused with the driver's own words where it is closed", async () => {
    await withSqliteFolder(betterSqlite3, ({ open }) => {
      const database = open();
      database.close();
      expect(() => sqliteStore({ database })).toThrow("The database connection is not open");
    });
  });

  it("is waited for while another one has the file, but not for ever", async () => {
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

  it("may have no busy_timeout of its own, and keeps none", async () => {
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
});
