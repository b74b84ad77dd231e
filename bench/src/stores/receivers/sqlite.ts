import BetterSqlite3 from "better-sqlite3";
import { join } from "node:path";
import type * as sqlite from "identity-gateway-webhooks/sqlite";
import type { Place } from "../engines/engine.js";
import type { Contenders } from "./contender.js";

const CREATE = "CREATE TABLE IF NOT EXISTS seen (id TEXT PRIMARY KEY, at INTEGER) WITHOUT ROWID";
const CLAIM = "INSERT INTO seen VALUES (?, ?) ON CONFLICT DO NOTHING";

function openFile({ folder, database }: Place): BetterSqlite3.Database {
  return new BetterSqlite3(join(folder, database));
}

/** `sqliteStore` through better-sqlite3 beside one prepared insert, each with its own commit. */
export const throughBetterSqlite3: Contenders = {
  async ours(load, place) {
    const { sqliteStore } = await load<typeof sqlite>("sqlite");
    return { store: sqliteStore({ database: openFile(place) }) };
  },
  byHand(place) {
    const database = openFile(place);
    database.pragma("journal_mode = WAL");
    database.pragma("synchronous = FULL");
    database.exec(CREATE);
    const claim = database.prepare(CLAIM);
    return Promise.resolve((id) => claim.run(id, Date.now()).changes === 1);
  },
};
