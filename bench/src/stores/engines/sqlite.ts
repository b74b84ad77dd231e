import BetterSqlite3 from "better-sqlite3";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "./engine.js";

const REMEMBER = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
  INSERT INTO gateway_deliveries (key, forget_at)
  SELECT lower(hex(randomblob(18))), (julianday('now') - 2440580.5) * 86400000 FROM n`;

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
    remember(name, count) {
      const database = new BetterSqlite3(join(folder, name));
      database.prepare(REMEMBER).run(count);
      database.close();
      return Promise.resolve();
    },
    close() {
      rmSync(folder, { recursive: true });
      return Promise.resolve();
    },
  });
}
