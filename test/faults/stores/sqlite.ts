import { setTimeout as wait } from "node:timers/promises";
import Database from "better-sqlite3";
import { sqliteStore } from "../../../src/stores/sqlite/index.js";
import type { Setup } from "../plan/mode.js";
import { EFFECTS_TABLE } from "../receivers/receiver-config.js";
import { UNTROUBLED, type StoreServer } from "./store-server.js";

/** A file. It has no server to restart: every killed receiver was one. */
export function openSqlite(
  setup: Setup,
  file: string,
): StoreServer & { readonly claimedIds: () => readonly string[] } {
  const database = new Database(file);
  // Creates the table and switches to WAL, so that four processes do not do it at once.
  sqliteStore({ database });
  database.pragma("busy_timeout = 0");
  database.exec(`CREATE TABLE ${EFFECTS_TABLE} (id TEXT NOT NULL)`);
  const idsOf = (sql: string): string[] => database.prepare(sql).pluck().all().map(String);

  /** Does not block the harness while a receiver writes. */
  const tryToLock = () => {
    try {
      database.exec("BEGIN IMMEDIATE");
      return true;
    } catch {
      return false;
    }
  };
  let locking = Promise.resolve();
  const lockFile = async (ms: number) => {
    while (!tryToLock()) await wait(1);
    await wait(ms);
    database.exec("ROLLBACK");
  };

  return {
    ...UNTROUBLED,
    port: 0,
    /** Ids of deliveries that are being handled. */
    claimedIds: () => idsOf("SELECT key FROM gateway_deliveries WHERE owner IS NOT NULL"),
    // One after the other: the connection has one transaction.
    lockRows: (ms) => (locking = locking.then(() => lockFile(ms))),
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
