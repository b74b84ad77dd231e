import BetterSqlite3 from "better-sqlite3";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteStore } from "identity-gateway-webhooks/sqlite";
import type { Engine } from "./engine.js";

/** SQLite through better-sqlite3, on a file. */
export function throughBetterSqlite3(): Engine {
  const folder = mkdtempSync(join(tmpdir(), "bench-sqlite-"));
  const file = join(folder, "deliveries.db");
  const database = new BetterSqlite3(file);
  // This sets the handle to WAL and synchronous=FULL, also for the raw writes.
  const store = sqliteStore({ database });
  database.exec("CREATE TABLE raw (key TEXT PRIMARY KEY, owner TEXT, ends INTEGER) WITHOUT ROWID");
  const insert = database.prepare("INSERT INTO raw VALUES (?, 'owner', 1) ON CONFLICT DO NOTHING");
  return {
    name: "SQLite, better-sqlite3",
    store,
    raw: "`INSERT … ON CONFLICT DO NOTHING`",
    rawWrite: (key) => insert.run(key).changes === 1,
    atATime: 1,
    empty: () => database.exec("DELETE FROM raw; DELETE FROM gateway_deliveries; VACUUM"),
    bytes() {
      database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      return statSync(file).size;
    },
    close() {
      database.close();
      rmSync(folder, { recursive: true });
    },
  };
}
