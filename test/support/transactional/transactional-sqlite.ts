import type { Database } from "libsql";
import type { TransactionalStore } from "../../../src/index.js";

/** A minimal transactional store: one connection, one transaction at a time, no purge. */
export function smallSqliteTransactions(database: Database): TransactionalStore<Database> {
  database.exec("CREATE TABLE IF NOT EXISTS handled (id TEXT PRIMARY KEY, until REAL NOT NULL)");
  let before: Promise<unknown> = Promise.resolve();

  return {
    async process(key, work, { retentionMs }) {
      const transact = async () => {
        database.exec("BEGIN IMMEDIATE");
        try {
          const { changes } = database
            .prepare("INSERT OR IGNORE INTO handled VALUES (?, ?)")
            .run(key, Date.now() + retentionMs);
          if (changes > 0) await work(database);
          database.exec("COMMIT");
          return { state: changes > 0 ? ("processed" as const) : ("completed" as const) };
        } catch (error) {
          if (database.inTransaction) database.exec("ROLLBACK");
          throw error;
        }
      };
      const done = before.then(transact);
      before = done.catch(() => undefined);
      return done;
    },
  };
}
