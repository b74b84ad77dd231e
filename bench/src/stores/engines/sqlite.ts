import BetterSqlite3 from "better-sqlite3";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "./engine.js";

/** SQLite: a file for each contender. It runs in the receiver's process. */
export function startSqliteEngine(): Promise<Engine> {
  const folder = mkdtempSync(join(tmpdir(), "bench-sqlite-"));
  return Promise.resolve({
    port: undefined,
    folder,
    databaseOf: (number) => `contender${number}.db`,
    syncs: undefined,
    bytes(name) {
      const file = join(folder, name);
      const database = new BetterSqlite3(file);
      database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      database.close();
      return Promise.resolve(statSync(file).size);
    },
    close() {
      rmSync(folder, { recursive: true });
      return Promise.resolve();
    },
  });
}
