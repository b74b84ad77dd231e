import Database from "better-sqlite3";
import { sqliteStore } from "../../../src/stores/sqlite/index.js";
import type { Setup } from "../plan/mode.js";
import { EFFECTS_TABLE } from "../receivers/receiver-config.js";
import type { StoreServer } from "./store-server.js";

/** A file. It has no server to be restarted: each receiver that is killed was one. */
export function openSqlite(setup: Setup, file: string): StoreServer {
  const database = new Database(file);
  // Makes the table, and sets the file to WAL, before four processes do so at once.
  sqliteStore({ database });
  database.exec(`CREATE TABLE ${EFFECTS_TABLE} (id TEXT NOT NULL)`);
  const idsOf = (sql: string): string[] => database.prepare(sql).pluck().all().map(String);

  return {
    port: 0,
    restart: () => Promise.resolve(),
    lock: () => Promise.resolve(),
    mostConnections: () => undefined,
    read: () =>
      Promise.resolve({
        storedIds: idsOf("SELECT key FROM gateway_deliveries"),
        ...(setup === "transactions-sqlite"
          ? { exactIds: idsOf(`SELECT id FROM ${EFFECTS_TABLE}`) }
          : {}),
      }),
    close() {
      database.close();
      return Promise.resolve();
    },
  };
}
